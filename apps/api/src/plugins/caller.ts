import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OpenRequests } from '../open-requests.ts';
import { type Caller, CallerPresence } from '../responses/caller.ts';

/**
 * Serves a request as long as its caller is there: until its connection closes before the answer is written, or this
 * process cannot wait any longer.
 */
export async function serveCaller<Result>(
  { request, reply, open }: { request: FastifyRequest; reply: FastifyReply; open: OpenRequests },
  serve: (caller: Caller) => Promise<Result>,
): Promise<Result> {
  const presence = new CallerPresence();
  const { raw } = reply;
  const onClose = () => {
    if (!raw.writableFinished) presence.end('caller_left');
  };
  const onInterrupt = () => presence.end('interrupted');
  const { underWay = open.begin(onInterrupt) } = request;
  open.take(underWay, onInterrupt);
  raw.once('close', onClose);
  if (raw.destroyed) onClose();
  try {
    return await serve({
      key: request.key,
      requestId: request.id,
      presence,
      elapsedMs: () => reply.elapsedTime,
    });
  } finally {
    raw.off('close', onClose);
    underWay.end();
  }
}
