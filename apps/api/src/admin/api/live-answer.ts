import type { FastifyReply, FastifyRequest } from 'fastify';

/** How often a silent stream says that it lives, in milliseconds. */
const heartbeatMs = 15_000;

/** Bytes that a client may be behind before it is cut off; a console that comes back reads everything anew. */
const mostUnread = 4 * 1024 * 1024;

/** One live answer: events for a page of the console. */
export interface LiveAnswer {
  /** Sends an event; `id` is what a client that comes back names as `last-event-id`. Nothing happens once it has ended. */
  send(event: string, data: unknown, id?: string): void;
  end(): void;
  /** Aborted when the client has left, is too slow, or the answer has ended. */
  readonly signal: AbortSignal;
}

/** Answers with server-sent events, as long as the client stays and reads. */
export function answerLive(request: FastifyRequest, reply: FastifyReply): LiveAnswer {
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
  const heartbeat = setInterval(() => write(': still here\n\n'), heartbeatMs);
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
    send: (event, data, id) => {
      const named = id === undefined ? '' : `id: ${id}\n`;
      write(`${named}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    end,
    signal: over.signal,
  };
}

/** What hooks have set so far; `writeHead` of a hijacked reply would leave it out. */
function plainHeaders(reply: FastifyReply): Record<string, string> {
  return Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    ),
  );
}
