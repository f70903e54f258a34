import {
  errorRow,
  isErrorCode,
  type Response,
  type ResponseEnd,
  ServiceError,
  withEnd,
} from '@sluice/contract';

/** The response with its end; a failed one is an error to whoever waited for the whole of it. */
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

export function responseGone(): ServiceError {
  return new ServiceError('server_error', 'The response is no longer there.', { shouldRetry: false });
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
