import type { ErrorBody } from './errors.ts';
import type { UnnumberedEvent } from './events.ts';

/**
 * The `error` event that precedes `response.failed`. It carries the error twice, nested and flat, because
 * clients read either.
 */
export function errorEvent({ message, type, param, code }: ErrorBody): UnnumberedEvent {
  return { type: 'error', code, message, param, error: { type, code, message, param } };
}
