import {
  type ErrorBody,
  type FailureCode,
  failureBody,
  failureMessages,
  type UnnumberedEvent,
} from '@sluice/contract';

/**
 * The error of a failed response: a fixed sentence for its code, or one of our own, and the id of the request,
 * by which the operator finds what really happened in the log.
 */
export function failureOf(
  { requestId }: { requestId: string },
  code: FailureCode,
  sentence: string = failureMessages[code],
): ErrorBody {
  return failureBody(code, requestId === '' ? sentence : `${sentence} Request id: ${requestId}.`);
}

/**
 * The `error` event that precedes `response.failed`. It carries the error twice, nested and flat, because
 * clients read either.
 */
export function errorEvent({ message, type, param, code }: ErrorBody): UnnumberedEvent {
  return { type: 'error', code, message, param, error: { type, code, message, param } };
}
