import { isKeptAfterEnd, isTerminal, type Response } from '@sluice/contract';
import {
  type Batch,
  lastNumberOf,
  type LongTexts,
  type ResponseRecord,
  type Subscription,
} from '@sluice/response-store';
import { pause } from '@sluice/runtime';
import { AcceptedResponse } from './accepted-response.ts';
import type { AttachmentEnd, Attachments } from './attachments.ts';
import type { Caller } from './caller.ts';
import type { ResponsesDependencies } from './dependencies.ts';
import { EventPresentation, type PresentationOptions } from './event-presentation.ts';
import type { SentEvent } from './event-sink.ts';
import { tellResumed } from './follow-response.ts';
import { type EventCollector, presentBatch } from './present-batch.ts';
import { ReaderRoom } from './reader-room.ts';
import { responseNotFound } from './refusals.ts';

/** A page takes no further event past so many characters. One event may be larger. */
const maxPage = 256 * 1024;

/**
 * How long a page that was waited for goes on to take what comes, in milliseconds. A model writes a hundred events a second, and
 * its reader would ask as often.
 */
const gatherMs = 100;

/** A piece of the events of a response. */
export interface EventPage {
  /** JSON of the events, in order. */
  events: string[];
  /** The long texts that marks in them stand for. */
  texts?: LongTexts | undefined;
  /** How many bytes of them are held already, beside their long texts, until they are freed. */
  heldBytes?: number;
  /** Frees the memory that is held for them; called once they are sent. */
  free: () => void;
  /** The number of the event behind them. */
  next: number;
  /** Whether there was no further event yet. */
  isUpToDate: boolean;
  /** Whether there will never be one. */
  isClosed: boolean;
}

export interface PageRequest {
  record: ResponseRecord;
  /** The last number the reader has; -1 for none. */
  cursor: number;
  presentation: PresentationOptions;
  /** Whether the response has no log, so that its events are derived from its record. */
  derived: boolean;
  /** How long to wait for an event when there is none yet, in milliseconds; 0 for a reader that does not wait. */
  waitMs: number;
}

type PageEnd = 'more' | 'caught_up' | 'closed';

/**
 * Reads the events of a response behind a cursor, as many as fit, and waits for the first of them if there is none.
 *
 * Only a reader that waits is a caller of the response: it keeps one in the foreground alive while it waits and, since it is
 * expected to come back, for a grace after it.
 *
 * @throws {ServiceError} when the response is deleted meanwhile, or the store does not answer.
 */
export async function readEventPage(
  dependencies: Pick<ResponsesDependencies, 'store' | 'telemetry'>,
  attachments: Attachments,
  caller: Caller,
  request: PageRequest,
): Promise<EventPage> {
  const { store } = dependencies;
  const { record, cursor, derived, waitMs } = request;
  tellResumed(dependencies.telemetry, caller, record);
  const room = new ReaderRoom(caller.hold, record.largeRequestBytes);
  const subscription = store.follow(record.id, {
    cursor,
    readFirst: true,
    derived,
    looksAgain: false,
    hold: room.holdPart,
    holdBeside: room.holdBeside,
  });
  try {
    const page = new Page(request, room, store);
    const reader = new PageReader(dependencies, subscription, page, record);
    const mayWait = waitMs > 0 && !isTerminal(record.status);
    // The record says when there is nothing to read yet.
    // Its end was not there when the record was read.
    let end = mayWait && lastNumberOf(record) <= cursor ? 'caught_up' : await reader.take();
    if (mayWait && end === 'caught_up' && page.events.length === 0) {
      end = await waitForPage(dependencies, attachments, caller, { request, reader, subscription, page });
    }
    return {
      free: () => subscription.close(),
      texts: page.texts,
      heldBytes: room.isRequestHeld ? room.requestBytes : 0,
      events: page.events,
      next: page.last + 1,
      isUpToDate: end !== 'more',
      isClosed: end === 'closed',
    };
  } catch (error) {
    subscription.close();
    throw error;
  }
}

/** Waits as a caller of the response. A process that stops answers with what there is. */
async function waitForPage(
  { store, telemetry }: Pick<ResponsesDependencies, 'store' | 'telemetry'>,
  attachments: Attachments,
  { key, presence, requestId }: Caller,
  parts: { request: PageRequest; reader: PageReader; subscription: Subscription; page: Page },
): Promise<PageEnd> {
  const { request, reader, subscription, page } = parts;
  const { id: responseId, request: asked } = request.record;
  const attachment = attachments.open({
    responseId,
    tenant: key.name,
    isKept: isKeptAfterEnd(asked),
    canReturn: true,
  });
  let attachmentEnd: AttachmentEnd = 'caller_left';
  const stopping = new AbortController();
  presence.onEnd((departure) => stopping.abort(new Error(`The wait ended: ${departure}`)));
  try {
    await store.attach(responseId);
    // Events from before this process was attached are in the log.
    subscription.resync();
    let end = await reader.take();
    if (end === 'caught_up' && page.events.length === 0) {
      const batch = await reader.firstWithin(request.waitMs, stopping.signal);
      if (batch && !batch.end) await pause(gatherMs, stopping.signal);
      // A message may have been lost: without a batch the log is asked.
      if (!batch) subscription.resync();
      end = await reader.take(batch);
    }
    attachmentEnd = end === 'closed' ? 'whole' : (presence.departure ?? 'may_return');
    return end;
  } finally {
    if (presence.departure) {
      telemetry.emit('caller.left', { responseId, requestId, reason: presence.departure });
    }
    attachment.close(attachmentEnd);
  }
}

/** Moves what a subscription has into a page. */
class PageReader {
  readonly #store: ResponsesDependencies['store'];
  readonly #subscription: Subscription;
  readonly #page: Page;
  readonly #record: ResponseRecord;

  constructor(
    { store }: Pick<ResponsesDependencies, 'store'>,
    subscription: Subscription,
    page: Page,
    record: ResponseRecord,
  ) {
    this.#store = store;
    this.#subscription = subscription;
    this.#page = page;
    this.#record = record;
  }

  /** Takes a batch and what is there behind it, until the page is full. */
  async take(first?: Batch): Promise<PageEnd> {
    const page = this.#page;
    for (let batch: Batch | 'nothing_yet' | 'gone' | undefined = first; ; batch = undefined) {
      batch ??= await this.#subscription.atHand();
      if (batch === 'gone') throw responseNotFound();
      if (batch === 'nothing_yet') return 'caught_up';
      await this.#present(batch);
      if (page.isCut) return 'more';
      if (batch.end) return 'closed';
      if (page.isFull) return 'more';
    }
  }

  /** The first batch that comes, or nothing when none does in time, or the wait ends early. */
  async firstWithin(waitMs: number, signal: AbortSignal): Promise<Batch | undefined> {
    const over = new AbortController();
    const stop = () => over.abort(signal.reason);
    const timer = setTimeout(() => over.abort(new Error('Nothing came in time')), waitMs);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      const batch = await this.#subscription.next(over.signal);
      if (!batch) throw responseNotFound();
      return batch;
    } catch (error) {
      if (over.signal.aborted) return undefined;
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  }

  #present(batch: Batch): Promise<void> {
    const { id, status } = this.#record;
    const store = this.#store;
    const page = this.#page;
    return presentBatch(
      batch,
      {
        presentation: page.presentation,
        // A response that had ended before is told as it stands.
        wasAskedToEnd: () => (isTerminal(status) ? Promise.resolve(true) : store.wasAskedToEnd(id)),
        isDurable: () => store.isDurable(id),
      },
      page,
    );
  }
}

/** Events up to a bound. There is at most one large one among them, and room for what it repeats before it is made. */
class Page implements EventCollector {
  readonly events: string[] = [];
  /** All events of a response have the same. */
  texts: LongTexts | undefined;
  readonly presentation: EventPresentation;
  /** The number of the last event, or the cursor. */
  last: number;
  /** Whether an event was left out. */
  isCut = false;
  #characters = 0;
  readonly #accepted: AcceptedResponse;
  readonly #room: ReaderRoom;

  constructor(
    { record, cursor, presentation }: PageRequest,
    room: ReaderRoom,
    store: ResponsesDependencies['store'],
  ) {
    this.last = cursor;
    this.presentation = new EventPresentation(presentation);
    this.#accepted = AcceptedResponse.takenFrom(record, store);
    this.#room = room;
  }

  get isFull(): boolean {
    return this.#characters >= maxPage;
  }

  add({ json, sequenceNumber, texts }: SentEvent): void {
    if (this.isFull) {
      this.isCut = true;
      return;
    }
    this.events.push(json);
    this.texts ??= texts;
    this.#characters += texts?.lengthOf(json) ?? json.length;
    this.last = sequenceNumber;
  }

  async addFrom(make: (accepted: Response) => readonly SentEvent[]): Promise<void> {
    if (this.isFull) {
      this.isCut = true;
      return;
    }
    const { held } = this.#accepted;
    if (held) {
      for (const event of make(held)) this.add(event);
      return;
    }
    const free = await this.#room.holdRequest();
    try {
      for (const event of make(await this.#accepted.whole())) this.add(event);
    } finally {
      free();
    }
  }
}
