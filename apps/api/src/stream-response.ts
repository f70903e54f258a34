import { isLifecycleType, type Response } from '@sluice/contract';
import { type Subscription, typeOf } from '@sluice/event-log';
import type { FastifyReply } from 'fastify';
import { EventPresentation, type PresentationOptions } from './event-presentation.ts';
import { processingMs } from './plugins/request-context.ts';
import { type SseEvent, SseStream } from './sse.ts';

export interface StreamResponseOptions {
  reply: FastifyReply;
  subscription: Subscription;
  /** The response as it was accepted; its life-cycle events are made from it. */
  accepted: Response;
  /** The last number the reader has. With -1 it has nothing, and gets `response.created` first. */
  cursor: number;
  /** Sent before anything is read: events that are known already. */
  opening: readonly ('response.created' | 'response.queued')[];
  /** Whether a worker has the response; decides what is repeated while the stream is silent. */
  isRunning: boolean;
  presentation: PresentationOptions;
  /** Aborted when this process cannot go on with the stream. */
  interrupted: AbortSignal;
  /** Called at the first event that carries output. */
  onFirstOutput?: () => void;
}

/**
 * How a stream ended: with the response's own end; `gone` when the response was deleted under it; `left` when the
 * reader went away or stopped reading; `interrupted` when this process stops.
 */
export type StreamEnding = 'whole' | 'gone' | 'left' | 'interrupted';

/** Sends the events of a response after a cursor, until its end. */
export async function streamResponse(options: StreamResponseOptions): Promise<StreamEnding> {
  const { reply, interrupted } = options;
  reply.hijack();
  const headers = { ...plainHeaders(reply), 'openai-processing-ms': processingMs(reply) };
  const stream = new SseStream(reply.raw, headers);
  const signal = AbortSignal.any([stream.gone, interrupted]);
  // Also while a write waits for a slow reader.
  const onInterrupted = () => stream.cut();
  interrupted.addEventListener('abort', onInterrupted, { once: true });
  try {
    const isWhole = await sendUntilEnd(options, stream, signal);
    if (isWhole) stream.end();
    else stream.cut();
    return isWhole ? 'whole' : 'gone';
  } catch (error) {
    stream.cut();
    if (!signal.aborted) throw error;
    return interrupted.aborted ? 'interrupted' : 'left';
  } finally {
    interrupted.removeEventListener('abort', onInterrupted);
  }
}

async function sendUntilEnd(
  {
    subscription,
    accepted,
    cursor,
    opening,
    isRunning,
    presentation: wanted,
    onFirstOutput,
  }: StreamResponseOptions,
  stream: SseStream,
  signal: AbortSignal,
): Promise<boolean> {
  const presentation = new EventPresentation(accepted, wanted);
  let last = cursor;
  let latest: 'response.queued' | 'response.in_progress' = isRunning
    ? 'response.in_progress'
    : 'response.queued';
  let hasOutput = false;
  // The numbers of repeated events are those of the last event sent, or of the first there is.
  stream.repeatWhileSilent(() => ({ type: latest, json: presentation.lifecycle(latest, Math.max(last, 0)) }));
  await stream.write(
    opening.map((type, number): SseEvent => ({ type, json: presentation.lifecycle(type, number) })),
  );
  for (;;) {
    const batch = await subscription.next(signal);
    if (!batch) return false;
    for (const { json } of batch.events) {
      const type = typeOf(json);
      if (type === 'response.in_progress') latest = type;
      else if (!hasOutput && !isLifecycleType(type)) {
        hasOutput = true;
        onFirstOutput?.();
      }
    }
    last = batch.events.at(-1)?.sequenceNumber ?? last;
    await stream.write(batch.events.map((event) => presentation.present(event, batch.end)));
    if (batch.end) return true;
  }
}

/** The headers set on the reply so far, for a socket that Fastify no longer writes to. */
function plainHeaders(reply: FastifyReply): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) headers[name] = String(value);
  }
  return headers;
}
