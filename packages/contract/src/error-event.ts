import type { ErrorBody } from './error-body.ts';
import type { UnnumberedEvent } from './events.ts';

/**
 * Makes the `error` event that precedes `response.failed`. The event carries the error twice, nested and flat, because
 * some clients read one and some the other.
 */
export function errorEvent({ message, type, param, code }: ErrorBody): UnnumberedEvent {
  return { type: 'error', code, message, param, error: { type, code, message, param } };
}
