import type { Response } from '@sluice/contract';
import { isLifecycleType } from '@sluice/contract';
import type { Subscription } from '@sluice/event-log';
import { typeOf } from '@sluice/event-log';
import type { FastifyReply } from 'fastify';
import { EventPresentation, type PresentationOptions } from './event-presentation.ts';
import { processingMs } from './plugins/request-context.ts';
import { SseStream } from './sse.ts';

export interface StreamResponseOptions {
  reply: FastifyReply;
  /** Follows the response from `response.queued` on. */
  subscription: Subscription;
  /** The response as it was accepted. */
  response: Response;
  presentation: PresentationOptions;
  /** Aborted when this process cannot go on with the stream. */
  interrupted: AbortSignal;
  /** Called at the first event that carries output. */
  onFirstOutput: () => void;
}

/**
 * Sends the events of a response that was just accepted, until its end.
 *
 * @returns whether the reader got all of it; false when it left, was too slow, or was interrupted.
 */
export async function streamResponse(options: StreamResponseOptions): Promise<boolean> {
  const { reply, subscription, response, interrupted } = options;
  const presentation = new EventPresentation(response, options.presentation);
  reply.hijack();
  const stream = new SseStream(reply.raw, {
    ...plainHeaders(reply),
    'openai-processing-ms': processingMs(reply),
  });
  const signal = AbortSignal.any([stream.gone, interrupted]);
  let lastNumber = 1;
  let latest: 'response.queued' | 'response.in_progress' = 'response.queued';
  stream.repeatWhileSilent(() => ({ type: latest, json: presentation.lifecycle(latest, lastNumber) }));
  try {
    await stream.write([
      { type: 'response.created', json: presentation.lifecycle('response.created', 0) },
      { type: 'response.queued', json: presentation.lifecycle('response.queued', 1) },
    ]);
    let hasOutput = false;
    for (;;) {
      const batch = await subscription.next(signal);
      if (!batch) {
        stream.cut();
        return true;
      }
      for (const { json } of batch.events) {
        const type = typeOf(json);
        if (type === 'response.in_progress') latest = type;
        else if (!hasOutput && !isLifecycleType(type)) {
          hasOutput = true;
          options.onFirstOutput();
        }
      }
      lastNumber = batch.events.at(-1)?.sequenceNumber ?? lastNumber;
      await stream.write(batch.events.map((event) => presentation.present(event, batch.end)));
      if (batch.end) {
        stream.end();
        return true;
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    stream.cut();
    return false;
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
