import {
  errorRow,
  type FailureBody,
  failureBody,
  isErrorCode,
  type Response,
  type ResponseEnd,
  ServiceError,
  withEnd,
} from '@sluice/contract';

/** The response with its end. A failed one is an error to a caller that waited for the whole of it. */
export function wholeResponse(response: Response, end: ResponseEnd): Response {
  if (end.status !== 'failed' || !end.error) return withEnd(response, end);
  const { code, message, param } = end.error;
  const known = isErrorCode(code) ? code : 'server_error';
  throw new ServiceError(known, message, {
    param,
    // Its attempts are used up: an SDK that tried again by itself would only multiply the load.
    ...(errorRow(known).status >= 500 && { shouldRetry: false }),
  });
}

/**
 * The error for a caller whose response was ended because this process showed no sign of life to the store. The record says
 * that it was cancelled, which no caller that is still here has done.
 */
export const lostTouch: FailureBody = failureBody(
  'server_is_overloaded',
  'The server lost touch with this response while it ran, and ended it. A retry is safe.',
);

/** The same for a caller that waits for the whole of it. A retry is right, so nothing advises against it. */
export function touchLost(): ServiceError {
  return new ServiceError('server_is_overloaded', lostTouch.message);
}

/**
 * A response that somebody waits for is there until its end, unless its tenant deletes it or the store loses it. Nobody can tell which, and
 * after the first a new try is not wanted, so that is for the caller to decide.
 */
export function responseGone(): ServiceError {
  const message = 'The response is no longer there: it was deleted, or the store of the server has lost it.';
  return new ServiceError('server_is_overloaded', message, { shouldRetry: false, retryAfterMs: null });
}

export function waitedTooLong(syncWaitMs: number): ServiceError {
  return new ServiceError(
    'timeout',
    `The response did not finish within ${Math.ceil(syncWaitMs / 1000)} s and was cancelled. Use 'stream' or 'background' for long ones.`,
    { shouldRetry: false },
  );
}

export function serverStops(): ServiceError {
  return new ServiceError('server_is_overloaded', 'The server is restarting. Please try again.');
}
