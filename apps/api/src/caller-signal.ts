import type { FastifyReply } from 'fastify';

/** Aborted when the client closes its connection before it has its answer. */
export function callerSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const { raw } = reply;
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort(new Error('The client closed the connection'));
  });
  if (raw.destroyed) gone.abort(new Error('The client closed the connection'));
  return gone.signal;
}
