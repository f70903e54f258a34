import { ApiError, ConnectionError, StreamError } from '../errors.ts';

/** Whether there is nothing to read any more: the response was deleted, or has expired. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** Whether the events of a response have expired, which are not kept for as long as the response. */
export function hasNoEvents(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'stream_expired';
}

/**
 * The AI SDK resumes a chat by itself when its page is visible again, if the chat was ended by an error that it takes for one of the
 * network: a `TypeError` of `fetch`, told by its message.
 */
export function asDisconnect(error: unknown): unknown {
  if (!(error instanceof StreamError && error.cause instanceof ConnectionError)) return error;
  return new TypeError('The network failed before the response was read to its end.', { cause: error });
}
