import { randomBytes } from '@sluice/runtime';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { newRequestId, ServiceError } from '@sluice/contract';
import { errorEnvelope } from './error-handler.ts';

/** How long a client has to take its answer and to close its connection, in milliseconds. */
const defaultLingerMs = 5_000;

/**
 * Answers what never became a request: framing that HTTP does not allow, headers that are too large, a client
 * that is too slow. Same envelope as everywhere, then the connection is closed, because nobody can tell where
 * the next request would begin. Node.js looks at it no more, so a client that leaves its side open is cut after `lingerMs`.
 */
export function answerBrokenRequest(
  error: Error & { code?: string },
  socket: Socket,
  lingerMs = defaultLingerMs,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = refusalOf(error.code);
  const { status } = refusal;
  const body = errorEnvelope(refusal);
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${newRequestId(randomBytes)}`,
      'x-content-type-options: nosniff',
      'cache-control: no-store',
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once('close', () => clearTimeout(timer));
}

function refusalOf(code: string | undefined): ServiceError {
  if (code === 'HPE_HEADER_OVERFLOW') return new ServiceError('headers_too_large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ServiceError('request_timeout');
  return new ServiceError('invalid_request', 'The request is not valid HTTP.');
}
