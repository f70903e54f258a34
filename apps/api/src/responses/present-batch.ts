import { errorEvent, failed, isLifecycleType, isTerminalType, type Response } from '@sluice/contract';
import { type Batch, type KnownEnd, type LoggedEvent, numberedEvent, typeOf } from '@sluice/response-store';
import type { EventPresentation } from './event-presentation.ts';
import type { SentEvent } from './event-sink.ts';
import { notDurable } from './refusals.ts';
import { lostTouch } from './whole-response.ts';

/** Where presented events go. */
export interface EventCollector {
  add(event: SentEvent): void;
  /** Adds events that are made from the response as it was accepted, which may be large. */
  addFrom(make: (accepted: Response) => readonly SentEvent[]): Promise<void>;
}

export interface BatchPresentation {
  presentation: EventPresentation;
  /** Whether somebody asked for the end of the response, once it is cancelled. */
  wasAskedToEnd: () => Promise<boolean>;
  /** Whether an end that has been read is as safe as it must be before anybody is told of it. */
  isDurable: () => Promise<boolean>;
}

/**
 * Hands the events of a batch to a collector as one reader is sent them, in order.
 *
 * @throws {ServiceError} when the end that they lead to is not safe yet. Its reader comes back for the rest.
 */
export async function presentBatch(
  { events, end, texts }: Batch,
  { presentation, wasAskedToEnd, isDurable }: BatchPresentation,
  collector: EventCollector,
): Promise<void> {
  if (end && !(await isDurable())) throw notDurable();
  const isLost = end?.status === 'cancelled' && !(await wasAskedToEnd());
  for (const event of events) {
    const { json, sequenceNumber } = event;
    const type = typeOf(json);
    if (!isLifecycleType(type)) collector.add(presentation.present(event));
    else if (isLost && isTerminalType(type)) {
      await collector.addFrom((response) => failureInstead(presentation, response, event, { end, texts }));
    } else {
      await collector.addFrom((response) => [
        presentation.lifecycle(response, { type, sequenceNumber }, end, texts),
      ]);
    }
  }
}

/**
 * Makes the failure that a reader is sent in place of an end that says `cancelled` although nobody asked for it. It takes one
 * number more than the log has, so a reader that comes back has missed nothing.
 */
function failureInstead(
  presentation: EventPresentation,
  accepted: Response,
  { sequenceNumber }: LoggedEvent,
  { end: { output, usage }, texts }: KnownEnd,
): SentEvent[] {
  const json = numberedEvent(errorEvent(lostTouch), sequenceNumber);
  const end = failed({ output, usage }, lostTouch);
  const number = sequenceNumber + 1;
  return [
    presentation.present({ sequenceNumber, json }),
    presentation.lifecycle(accepted, { type: 'response.failed', sequenceNumber: number }, end, texts),
  ];
}
