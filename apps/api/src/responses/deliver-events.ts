import { isLifecycleType, type Response } from '@sluice/contract';
import { type KnownEnd, type Subscription, typeOf } from '@sluice/response-store';
import type { AcceptedResponse } from './accepted-response.ts';
import type { CallerPresence } from './caller.ts';
import { EventPresentation, type PresentationOptions } from './event-presentation.ts';
import type { EventSink, SentEvent } from './event-sink.ts';
import { type EventCollector, presentBatch } from './present-batch.ts';
import { positionRemark } from './present-position.ts';
import type { QueuePosition } from './queue-positions.ts';
import type { ReaderRoom } from './reader-room.ts';

export interface DeliverEventsOptions {
  sink: EventSink;
  subscription: Subscription;
  presence: CallerPresence;
  /** The response as it was accepted; its life-cycle events are made from it. */
  accepted: AcceptedResponse;
  /** Memory for what is read and written to a reader who may be slow. */
  room: ReaderRoom;
  /** The last number the reader has; -1 for none. */
  cursor: number;
  /** Sent before anything is read: events that are known already. */
  opening: readonly ('response.created' | 'response.queued')[];
  /** Whether a worker has the response; decides what is repeated while nothing else is sent. */
  isRunning: boolean;
  presentation: PresentationOptions;
  /** Where the response stands in its queue; undefined when it does not wait there. */
  position: () => Promise<QueuePosition | undefined>;
  /** Whether somebody asked for the end of the response, once it is cancelled. */
  wasAskedToEnd: () => Promise<boolean>;
  /** Whether an end that has been read is as safe as it must be before anybody is told of it. */
  isDurable: () => Promise<boolean>;
  /** Called at the first event that carries output. */
  onFirstOutput: () => void;
  /** Called with the end of the response, once the reader was sent it. */
  onEnd?: ((known: KnownEnd) => void) | undefined;
}

/**
 * How a delivery ended: with the response's own end; `gone` when the response was deleted under it; `caller_left` when
 * the reader went away or stopped reading; `interrupted` when this process stops.
 */
export type DeliveryEnd = 'whole' | 'gone' | 'caller_left' | 'interrupted';

/** Sends the events of a response behind a cursor, until its end. */
export async function deliverEvents(options: DeliverEventsOptions): Promise<DeliveryEnd> {
  const { sink, presence } = options;
  const stopping = new AbortController();
  // Also while a write waits for a slow reader.
  presence.onEnd((departure) => {
    stopping.abort(new Error(`The delivery ended: ${departure}`));
    sink.cut();
  });
  const signal = AbortSignal.any([sink.gone, stopping.signal]);
  try {
    const isWhole = await sendUntilEnd(options, signal);
    if (isWhole) sink.end();
    else sink.cut();
    return isWhole ? 'whole' : 'gone';
  } catch (error) {
    sink.cut();
    if (!signal.aborted) throw error;
    return presence.departure ?? 'caller_left';
  }
}

async function sendUntilEnd(
  {
    sink,
    subscription,
    accepted,
    room,
    cursor,
    opening,
    isRunning,
    presentation: wanted,
    position,
    wasAskedToEnd,
    isDurable,
    onFirstOutput,
    onEnd,
  }: DeliverEventsOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const presentation = new EventPresentation(wanted);
  const outbox = new Outbox(sink, accepted, room);
  let last = cursor;
  let latest: 'response.queued' | 'response.in_progress' = isRunning
    ? 'response.in_progress'
    : 'response.queued';
  let hasOutput = false;
  // The numbers of repeated events are those of the last event sent, or of the first there is.
  sink.repeatWhileSilent(
    () =>
      accepted.held &&
      presentation.lifecycle(accepted.held, { type: latest, sequenceNumber: Math.max(last, 0) }),
  );
  sink.remarkWhileSilent(async () => {
    const known = latest === 'response.queued' ? await position() : undefined;
    return known && positionRemark(known);
  });
  for (const [number, type] of opening.entries()) {
    await outbox.addFrom((response) => [presentation.lifecycle(response, { type, sequenceNumber: number })]);
  }
  await outbox.flush(!subscription.isBehind);
  for (;;) {
    const batch = await subscription.next(signal, () => sink.caughtUp());
    if (!batch) return false;
    for (const { json } of batch.events) {
      const type = typeOf(json);
      if (type === 'response.in_progress') latest = type;
      else if (!hasOutput && !isLifecycleType(type)) {
        hasOutput = true;
        onFirstOutput();
      }
    }
    await presentBatch(batch, { presentation, wasAskedToEnd, isDurable }, outbox);
    await outbox.flush(!subscription.isBehind);
    last = batch.events.at(-1)?.sequenceNumber ?? last;
    if (batch.end) {
      onEnd?.({ end: batch.end, texts: batch.texts });
      return true;
    }
  }
}

/**
 * Events on their way to a reader: those of a turn go together. One that repeats a large request goes alone, and there is
 * room for it before it is made: readers may be slow, and many.
 */
class Outbox implements EventCollector {
  readonly #sink: EventSink;
  readonly #accepted: AcceptedResponse;
  readonly #room: ReaderRoom;
  #events: SentEvent[] = [];

  constructor(sink: EventSink, accepted: AcceptedResponse, room: ReaderRoom) {
    this.#sink = sink;
    this.#accepted = accepted;
    this.#room = room;
  }

  add(event: SentEvent): void {
    this.#events.push(event);
  }

  /** Adds events that are made from the response as it was accepted. */
  async addFrom(make: (accepted: Response) => readonly SentEvent[]): Promise<void> {
    const { held } = this.#accepted;
    if (held) {
      for (const event of make(held)) this.add(event);
      return;
    }
    await this.flush(false);
    const free = await this.#room.holdRequest();
    try {
      await this.#sink.write(make(await this.#accepted.whole()), false);
    } finally {
      free();
    }
  }

  /** Sends what was added. `isLatest`: there is nothing behind it yet. */
  async flush(isLatest: boolean): Promise<void> {
    const events = this.#events;
    this.#events = [];
    if (events.length > 0) await this.#sink.write(events, isLatest);
  }
}
