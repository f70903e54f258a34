import { countDerivedEvents, deriveEvents, eventTypeOf } from '@sluice/contract';
import type { HoldMemory, KnownEnd, OpenEnd, OpenEnds } from '../reading/open-ends.ts';
import { readEventPage } from '../reading/read-event-page.ts';
import type { LoggedEvent } from '../reading/read-events.ts';
import { type FoundEnd, readEnd, readLastNumber, readProgress } from '../reading/read-record.ts';
import { parseEnd } from '../record/end-json.ts';
import { isMark } from '../record/long-event.ts';
import type { ResponseRecord } from '../record/record.ts';
import type { StoreAccess } from '../record/store-access.ts';
import { lifecycleEvent } from '../transitions/numbered-event.ts';
import type { BoundedReads } from './bounded-reads.ts';
import type { Listener } from './listeners.ts';
import { hadStarted } from './message.ts';
import type { LogReader } from './subscription.ts';

export interface LogReaderOptions {
  access: StoreAccess;
  responseId: string;
  /** The reads of the process; a reader that waits for memory has no place among them. */
  reads: BoundedReads;
  ends: OpenEnds;
  hold: HoldMemory;
  holdBeside?: HoldMemory | undefined;
}

/** A page of the log brings no further event past so many bytes, and one that is longer is held for before it is read. */
const pageBytes = 128 * 1024;

/** The memory for an event on its way from the log to a socket, as a multiple of its size: a text, its frame, its bytes. */
const eventFactor = 3;

/** Reads the log of a streamed response for one reader. */
export class LoggedEvents implements LogReader {
  readonly #options: LogReaderOptions;
  readonly #end: EndOfReader;
  #free: (() => void) | undefined;
  #isClosed = false;

  constructor(options: LogReaderOptions) {
    this.#options = options;
    this.#end = new EndOfReader(options);
  }

  async events(cursor: number, count: number): Promise<LoggedEvent[]> {
    // Its reader has taken what came before.
    this.#letEventGo();
    const { access, responseId, reads, hold } = this.#options;
    for (let mostBytes = pageBytes; ; ) {
      const bounds = { cursor, count, pageBytes, mostBytes };
      const page = await reads.run(() => readEventPage(access, responseId, bounds));
      if (page.kind === 'read') return this.#withLongEvents(page.events);
      mostBytes = page.bytes;
      this.#letEventGo();
      this.#free = await hold(eventFactor * page.bytes);
      if (this.#isClosed) this.#letEventGo();
    }
  }

  async end(): Promise<KnownEnd | undefined | null> {
    const { access, responseId, reads } = this.#options;
    const found = await reads.run(() => readEnd(access, responseId));
    return found && ((await this.#end.read(found)) ?? null);
  }

  async last(): Promise<number | undefined> {
    const { access, responseId, reads } = this.#options;
    return reads.run(() => readLastNumber(access, responseId));
  }

  /** Reads the long events of a page, which ends where one is gone. */
  async #withLongEvents(page: LoggedEvent[]): Promise<LoggedEvent[]> {
    const { responseId, ends } = this.#options;
    for (const [at, event] of page.entries()) {
      if (!isMark(event.json)) continue;
      const whole = await ends.readEvent(responseId, event);
      if (!whole) return page.slice(0, at);
      page[at] = whole;
    }
    return page;
  }

  close(): void {
    this.#isClosed = true;
    this.#letEventGo();
    this.#end.close();
  }

  #letEventGo(): void {
    this.#free?.();
    this.#free = undefined;
  }
}

interface Progress {
  hasStarted: boolean;
  known: KnownEnd | undefined;
}

/**
 * The events of a response that was not created as a stream, behind a cursor, as far as they are known: its life cycle while
 * it runs, and everything once it has ended. They have the same numbers each time, and each is made when it is wanted.
 */
export function* derivedEvents({ hasStarted, known }: Progress, cursor: number): Generator<LoggedEvent> {
  const types = ['response.created', 'response.queued', ...(hasStarted ? ['response.in_progress'] : [])];
  for (const [sequenceNumber, type] of types.entries()) {
    if (sequenceNumber > cursor) yield { sequenceNumber, json: lifecycleEvent(type) };
  }
  if (!known) return;
  const { end, texts } = known;
  let sequenceNumber = Math.max(types.length, cursor + 1);
  for (const { type, ...members } of deriveEvents(end, sequenceNumber - types.length)) {
    const json = JSON.stringify({ type, sequence_number: sequenceNumber, ...members });
    yield { sequenceNumber, json, texts };
    sequenceNumber += 1;
  }
  const last = lastDerived(hasStarted, end);
  if (cursor < last) yield { sequenceNumber: last, json: lifecycleEvent(eventTypeOf(end.status)) };
}

/**
 * The number of the last event that there is of a response, logged or derived. One that was not streamed and has a long end
 * is counted by that: give it.
 */
export function lastNumberOf(
  { streams, sequenceNumber, startedAt, end: short }: ResponseRecord,
  end: KnownEnd['end'] | undefined = short,
): number {
  return streams ? sequenceNumber : lastDerived(startedAt !== undefined, end);
}

function lastDerived(hasStarted: boolean, end: KnownEnd['end'] | undefined): number {
  const opening = hasStarted ? 3 : 2;
  return end ? opening + countDerivedEvents(end) : opening - 1;
}

/** The events that one reader is given in place of the log that its response does not have. */
export class DerivedEvents implements LogReader {
  readonly #options: LogReaderOptions;
  readonly #end: EndOfReader;
  /** The end that a message brought: a response that is deleted right behind it still ends for its readers. */
  #last: string | undefined;
  /** The end that is told in part, and its events behind the last one that was read. They are not derived anew: an item may have very many. */
  #rest: { after: number; known: KnownEnd; events: Generator<LoggedEvent> } | undefined;

  constructor(options: LogReaderOptions) {
    this.#options = options;
    this.#end = new EndOfReader(options);
  }

  listener(resync: () => void): Listener {
    return {
      offer: ({ end }) => {
        this.#last ??= end;
        resync();
      },
      resync: () => {
        // A store that comes back may have lost it. What was told in part goes on: there cannot be two answers in one.
        if (!this.#rest) this.#last = undefined;
        resync();
      },
    };
  }

  async events(cursor: number, count: number): Promise<LoggedEvent[]> {
    if (this.#rest?.after !== cursor) {
      this.#rest = undefined;
      const progress = await this.#progress();
      if (!progress) return [];
      const events = derivedEvents(progress, cursor);
      if (!progress.known) return [...events];
      this.#rest = { after: cursor, known: progress.known, events };
    }
    const page: LoggedEvent[] = [];
    let characters = 0;
    while (page.length < count && characters < pageBytes) {
      const { value, done } = this.#rest.events.next();
      if (done === true) break;
      page.push(value);
      characters += value.json.length;
    }
    const last = page.at(-1);
    // Nothing of the end is told to a reader that is behind it.
    if (last) this.#rest.after = last.sequenceNumber;
    else this.#rest = undefined;
    return page;
  }

  async end(): Promise<KnownEnd | undefined | null> {
    if (this.#rest) return this.#rest.known;
    if (this.#last !== undefined) return parseEnd(this.#last);
    const { access, responseId, reads } = this.#options;
    const found = await reads.run(() => readEnd(access, responseId));
    return found && ((await this.#end.read(found)) ?? null);
  }

  async last(): Promise<number | undefined> {
    const progress = await this.#progress();
    return progress?.known && lastDerived(progress.hasStarted, progress.known.end);
  }

  close(): void {
    this.#rest = undefined;
    this.#end.close();
  }

  async #progress(): Promise<Progress | undefined> {
    if (this.#last !== undefined) {
      return { hasStarted: hadStarted(this.#last), known: parseEnd(this.#last) };
    }
    const { access, responseId, reads } = this.#options;
    const progress = await reads.run(() => readProgress(access, responseId));
    if (!progress?.end) return progress && { hasStarted: progress.hasStarted, known: undefined };
    const known = await this.#end.read(progress.end);
    return known && { hasStarted: progress.hasStarted, known };
  }
}

/** The end that one reader reads, kept open until that is closed. */
class EndOfReader {
  readonly #options: LogReaderOptions;
  #open: OpenEnd | undefined;
  #isClosed = false;

  constructor(options: LogReaderOptions) {
    this.#options = options;
  }

  /** Reads what was found; undefined when it is gone by now. */
  async read(found: FoundEnd): Promise<KnownEnd | undefined> {
    if (found.kind === 'read') return parseEnd(found.json);
    if (this.#open?.isOf(found.bytes)) return this.#open;
    // Nothing is held while more is waited for.
    this.#open?.close();
    this.#open = undefined;
    const { responseId, ends, hold, holdBeside } = this.#options;
    this.#open = await ends.open(responseId, { bytes: found.bytes, hold, holdBeside });
    if (this.#isClosed) this.#open?.close();
    return this.#open;
  }

  close(): void {
    this.#isClosed = true;
    this.#open?.close();
  }
}
