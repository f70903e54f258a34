import type { TailReader } from '@sluice/operator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { defaultStalledMs, drained, slicesOf } from '../../reader-pace.ts';

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
export function answerLive(
  request: FastifyRequest,
  reply: FastifyReply,
  { stalledMs = defaultStalledMs }: { stalledMs?: number | undefined } = {},
): LiveAnswer {
  reply.hijack();
  const { raw } = reply;
  const over = new AbortController();
  const end = () => {
    if (over.signal.aborted) return;
    over.abort();
    clearInterval(heartbeat);
    raw.end();
  };
  const write = (text: string) => {
    if (over.signal.aborted) return;
    raw.write(text);
    if (raw.writableLength <= mostUnread) return;
    end();
    raw.destroy();
  };
  const heartbeat = setInterval(() => {
    // A client that has not taken what there is needs no other sign of life.
    if (!raw.writableNeedDrain) write(': still here\n\n');
  }, heartbeatMs);
  raw.on('close', end);
  raw.on('error', end);
  raw.writeHead(200, {
    ...plainHeaders(reply),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  raw.write('retry: 2000\n\n');
  if (request.raw.destroyed) end();
  return {
    send: (event, data, id) => write(frameOf(event, JSON.stringify(data), id)),
    sendInTurn: async (event, json, id) => {
      over.signal.throwIfAborted();
      const onStalled = () => {
        end();
        raw.destroy();
      };
      const send = async (text: string | Buffer) => {
        over.signal.throwIfAborted();
        if (!raw.write(text)) await drained(raw, { signal: over.signal, stalledMs, onStalled });
      };
      if (typeof json === 'string') return send(frameOf(event, json, id));
      await send(headOf(event, id));
      for (const piece of json) for (const slice of slicesOf(piece)) await send(slice);
      await send('\n\n');
    },
    end,
    signal: over.signal,
  };
}

function frameOf(event: string, json: string, id: string | undefined): string {
  return `${headOf(event, id)}${json}\n\n`;
}

function headOf(event: string, id: string | undefined): string {
  const named = id === undefined ? '' : `id: ${id}\n`;
  return `${named}event: ${event}\ndata: `;
}

/** The headers that hooks have set so far; `writeHead` of a hijacked reply would leave them out. */
export function plainHeaders(reply: FastifyReply): Record<string, string> {
  return Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    ),
  );
}
