import type { FastifyReply } from 'fastify';
import { processingMs } from './plugins/request-context.ts';
import { SseStream, type StreamFraming } from './sse.ts';

/** Begins an event stream in place of a reply's body, with the headers that were set so far. */
export function openEventStream(reply: FastifyReply, framing?: StreamFraming): SseStream {
  reply.hijack();
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) headers[name] = String(value);
  }
  return new SseStream(
    reply.raw,
    { ...headers, 'openai-processing-ms': processingMs(reply) },
    framing,
    reply.server.sliceTurns,
  );
}
