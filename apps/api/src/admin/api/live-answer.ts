import type { TailReader } from '@sluice/operator';
import type { FastifyReply } from 'fastify';
import { commentOf, EventStream, frameInPieces, frameOf, plainHeaders } from '../../event-stream.ts';

/** How often a silent stream says that it lives, in milliseconds. */
const heartbeatMs = 15_000;

/** Bytes that a client may be behind before it is cut off; a console that comes back reads everything anew. */
const mostUnread = 4 * 1024 * 1024;

/** One live answer: events for a page of the console. */
export interface LiveAnswer extends TailReader {
  /** Sends an event; `id` is what a client that comes back names as `last-event-id`. Nothing happens once it has ended. */
  send(event: string, data: unknown, id?: string): void;
}

/** Answers with server-sent events, as long as the client stays and reads. */
export function answerLive(reply: FastifyReply, { stalledMs }: { stalledMs?: number } = {}): LiveAnswer {
  reply.hijack();
  const { sliceTurns: turns } = reply.server;
  const stream = new EventStream(reply.raw, plainHeaders(reply), {
    cacheControl: 'no-store',
    turns,
    stalledMs,
  });
  const over = new AbortController();
  const end = () => {
    if (over.signal.aborted) return;
    over.abort();
    clearInterval(heartbeat);
    stream.end();
  };
  const write = (text: string) => {
    if (over.signal.aborted) return;
    stream.write(text);
    if (stream.unreadBytes > mostUnread) stream.cut(new Error('The client is too far behind'));
  };
  const heartbeat = setInterval(() => {
    // A client that has not taken what there is needs no other sign of life.
    if (!stream.isFull) write(commentOf('still here'));
  }, heartbeatMs);
  stream.gone.addEventListener('abort', end, { once: true });
  if (stream.gone.aborted) end();
  else stream.write('retry: 2000\n\n');
  return {
    send: (event, data, id) => write(frameOf(event, JSON.stringify(data), id)),
    sendInTurn: async (event, json, id) => {
      over.signal.throwIfAborted();
      if (typeof json === 'string') await stream.writeInTurn(frameOf(event, json, id));
      else await stream.writeSlices(frameInPieces(event, json, id));
    },
    end,
    signal: over.signal,
  };
}
