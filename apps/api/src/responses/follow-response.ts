import { isKeptAfterEnd, isTerminal } from '@sluice/contract';
import type { ResponseRecord } from '@sluice/response-store';
import { parseTraceparent, type Telemetry } from '@sluice/runtime';
import { AcceptedResponse } from './accepted-response.ts';
import type { AttachmentEnd, Attachments } from './attachments.ts';
import type { Caller } from './caller.ts';
import { deliverEvents } from './deliver-events.ts';
import type { ResponsesDependencies } from './dependencies.ts';
import type { PresentationOptions } from './event-presentation.ts';
import type { EventSink } from './event-sink.ts';
import type { QueuePositions } from './queue-positions.ts';
import { ReaderRoom } from './reader-room.ts';

export interface FollowRequest {
  record: ResponseRecord;
  /** The last number the reader has; -1 for none. */
  cursor: number;
  presentation: PresentationOptions;
  /** Given the cursor that it begins behind. */
  openSink: (cursor: number) => EventSink;
  /** Whether the response has no log, or none any more, so that its events are derived from its record. */
  derived: boolean;
}

/** Tells who reads a response that was accepted earlier. */
export function tellResumed(
  telemetry: Telemetry,
  { trace }: Caller,
  { id, traceparent }: ResponseRecord,
): void {
  if (!trace) return;
  telemetry.emit('response.resumed', { responseId: id, trace, origin: parseTraceparent(traceparent) });
}

/**
 * Sends the events of a response that was accepted earlier, by whichever process, from a cursor on: what is logged, then
 * what comes. Returns how the reader stopped.
 */
export async function followResponse(
  {
    store,
    telemetry,
    positions,
  }: Pick<ResponsesDependencies, 'store' | 'telemetry'> & { positions: QueuePositions },
  attachments: Attachments,
  caller: Caller,
  { record, cursor, presentation, openSink, derived }: FollowRequest,
): Promise<AttachmentEnd> {
  const { id: responseId } = record;
  // A reader waits for room as long as it likes, in its turn: its stream says that it lives.
  const hold = (bytes: number) => caller.hold(bytes, Number.POSITIVE_INFINITY);
  const room = new ReaderRoom(hold, record.largeRequestBytes);
  const following = { cursor, readFirst: true, derived, hold: room.holdPart, holdBeside: room.holdBeside };
  const subscription = store.follow(responseId, following);
  // Nobody waits for what has ended, so the store need not know of its readers.
  const isOpen = !isTerminal(record.status);
  const attached = {
    responseId,
    tenant: caller.key.name,
    isKept: isKeptAfterEnd(record.request),
    canReturn: true,
  };
  const attachment = isOpen ? attachments.open(attached) : undefined;
  tellResumed(telemetry, caller, record);
  // Until the reader is known to have left, it is this process that cuts it off.
  let end: AttachmentEnd = 'interrupted';
  try {
    if (isOpen) await store.attach(responseId);
    end = await deliverEvents({
      sink: openSink(cursor),
      subscription,
      presence: caller.presence,
      accepted: AcceptedResponse.takenFrom(record, store),
      room,
      cursor,
      opening: [],
      isRunning: record.status !== 'queued',
      // A response that had ended before is told as it stands.
      wasAskedToEnd: () => (isOpen ? store.wasAskedToEnd(responseId) : Promise.resolve(true)),
      isDurable: () => store.isDurable(responseId),
      presentation,
      position: () => positions.ofIfKnown(record.queue, responseId),
      onFirstOutput: () => undefined,
    });
    if (end === 'caller_left' || end === 'interrupted') {
      telemetry.emit('caller.left', { responseId, requestId: caller.requestId, reason: end });
    }
    return end;
  } finally {
    subscription.close();
    attachment?.close(end);
  }
}
