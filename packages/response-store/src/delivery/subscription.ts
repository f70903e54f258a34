import { isTerminalType, type ResponseEnd } from '@sluice/contract';
import { type LoggedEvent, typeOf } from '../reading/read-events.ts';
import type { KnownEnd } from '../reading/open-ends.ts';
import { parseEnd } from '../record/end-json.ts';
import type { LongTexts } from '../record/long-texts.ts';
import { lastEvents } from './last-events.ts';
import type { RelayMessage } from './message.ts';

/** Live events kept for one reader, in characters of JSON; a reader that falls behind is served from the log. */
const maxBuffered = 256 * 1024;

/** Events read from the log at once: as many as fit, judged by those before, into so many characters of JSON. */
const page = { first: 16, most: 200, characters: 128 * 1024 };

/** First and longest wait for a message before the log is asked, in milliseconds. */
export interface PollTimes {
  first: number;
  longest: number;
}
const defaultPollMs: PollTimes = { first: 1_000, longest: 5_000 };

/** The source from which a subscription reads when its messages have a hole. */
export interface LogReader {
  events(cursor: number, count: number): Promise<LoggedEvent[]>;
  /** The end of the response, or undefined while there is none; null when the response is gone. */
  end(): Promise<KnownEnd | undefined | null>;
  /** The number of the last event of an ended response; undefined when that is gone. */
  last(): Promise<number | undefined>;
  /** Gives back what is held in memory. What was read last is not used any more. */
  close(): void;
}

/** A piece of a stream: events after the cursor and, with the last of them, what the end added. */
export interface Batch {
  events: LoggedEvent[];
  end: ResponseEnd | undefined;
  /** The long texts that marks in the end stand for. */
  texts?: LongTexts | undefined;
}

/**
 * One reader of one response, from a cursor on.
 *
 * Live messages are buffered while they fit. Whenever the next number is not at hand (it was published before
 * the reader attached, lost on the way, or dropped because the reader was slow) the log is read, so what a
 * reader sees has no gap and no repeat, whatever happens to pub/sub.
 */
export class Subscription {
  #cursor: number;
  #pending: LoggedEvent[] = [];
  #buffered = 0;
  #mustRead: boolean;
  #pageSize = page.first;
  #end: string | undefined;
  #wake: (() => void) | undefined;
  /** Whether something came since the last look; a reader that is about to wait must not miss it. */
  #hasNews = false;
  /** Whether the cursor is where this reader was brought, and not where it asked to begin. */
  #hasDelivered = false;
  readonly #reader: LogReader;
  readonly #onClose: () => void;
  readonly #onError: (error: unknown) => void;
  readonly #looksAgain: boolean;
  readonly #pollMs: PollTimes;
  #isClosed = false;
  #isCut = false;

  /**
   * `cursor` is the last number the reader has; with `readFirst` the log is read before anything is awaited. A reader that waits
   * for a short time only need not look again for messages that were lost, and then waits at no cost; see `looksAgain`.
   */
  constructor(options: {
    cursor: number;
    readFirst: boolean;
    looksAgain?: boolean | undefined;
    /** For who is sent no messages, and finds everything in the log. */
    pollMs?: PollTimes | undefined;
    reader: LogReader;
    onClose: () => void;
    onError: (error: unknown) => void;
  }) {
    this.#cursor = options.cursor;
    this.#mustRead = options.readFirst;
    this.#looksAgain = options.looksAgain ?? true;
    this.#pollMs = options.pollMs ?? defaultPollMs;
    this.#reader = options.reader;
    this.#onClose = options.onClose;
    this.#onError = options.onError;
  }

  /** Takes a live message. Never blocks, never grows past its bound. */
  offer(message: RelayMessage): void {
    if (message.end !== undefined) {
      this.#end = message.end;
      // A reader whose cursor lies behind the last event gets the end alone, and that by way of the log.
      if ((message.events.at(-1)?.sequenceNumber ?? 0) <= this.#cursor) this.#mustRead = true;
    }
    for (const event of message.events) {
      this.#pending.push(event);
      this.#buffered += event.json.length;
    }
    if (this.#buffered > maxBuffered) {
      this.#pending = [];
      this.#buffered = 0;
      this.#mustRead = true;
    }
    this.#hasNews = true;
    this.#wake?.();
  }

  /**
   * Something may have been missed: the next batch comes from the log. So does what is at hand and was told to nobody, since a store that comes
   * back may have lost it.
   */
  resync(): void {
    this.#pending = [];
    this.#buffered = 0;
    this.#end = undefined;
    this.#mustRead = true;
    this.#hasNews = true;
    this.#wake?.();
  }

  /**
   * The next events, as soon as there are any; undefined when the response or its log no longer exists, or the subscription is cut.
   *
   * After the batch with the end nothing follows. While the store is away it waits, and then goes on where it was. Rejects with the
   * signal's reason when it is aborted, and otherwise never. `onCaughtUp` is called when everything has been read, before a wait.
   */
  async next(signal: AbortSignal, onCaughtUp?: () => void): Promise<Batch | undefined> {
    let wait = this.#pollMs.first;
    for (;;) {
      signal.throwIfAborted();
      const batch = await this.#take();
      if (batch !== 'nothing_yet') return batch === 'gone' ? undefined : batch;
      if (this.#isCut) return undefined;
      if (!this.isBehind) onCaughtUp?.();
      if (await this.#sleep(this.#looksAgain ? wait : undefined, signal)) continue;
      // No message for a while; the last one may be lost.
      this.#mustRead = true;
      wait = Math.min(wait * 2, this.#pollMs.longest);
    }
  }

  /**
   * The next events that are there by now: the same as `next`, without a wait. Rejects when the store does not answer; the
   * next call begins where this one was.
   */
  async atHand(): Promise<Batch | 'nothing_yet' | 'gone'> {
    try {
      return await this.#look();
    } catch (error) {
      this.#mustRead = true;
      throw error;
    }
  }

  /** Whether there may be more to read than what was taken so far. */
  get isBehind(): boolean {
    return this.#mustRead || this.#pending.length > 0;
  }

  /** Ends the delivery because nothing more will come here: the process has left the cell of the response. */
  cut(): void {
    this.#isCut = true;
    this.#hasNews = true;
    this.#wake?.();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#pending = [];
    this.#reader.close();
    this.#onClose();
  }

  /** Takes what is at hand, from the buffer or from the log. A store that does not answer has nothing yet. */
  async #take(): Promise<Batch | 'nothing_yet' | 'gone'> {
    try {
      return await this.#look();
    } catch (error) {
      this.#onError(error);
      this.#mustRead = true;
      return 'nothing_yet';
    }
  }

  async #look(): Promise<Batch | 'nothing_yet' | 'gone'> {
    this.#hasNews = false;
    for (;;) {
      // A hole in the buffer, or a message lost while the log is read, leads back to the log.
      const events = this.#mustRead ? [] : this.#fromBuffer();
      if (events.length > 0) return this.#deliver(events);
      if (!this.#mustRead) return 'nothing_yet';
      const batch = await this.#fromLog();
      if (batch !== 'nothing_yet') return batch;
    }
  }

  /** Takes the events that follow the cursor without a hole. Those behind a hole are in the log as well. */
  #fromBuffer(): LoggedEvent[] {
    const events: LoggedEvent[] = [];
    let next = this.#cursor + 1;
    for (const event of this.#pending) {
      if (event.sequenceNumber > next) {
        this.#mustRead = true;
        break;
      }
      if (event.sequenceNumber < next) continue;
      events.push(event);
      next += 1;
    }
    this.#pending = [];
    this.#buffered = 0;
    return events;
  }

  /** The next page of the log; `gone` when the response, or its log, is no longer there. Behind the last event it has the end alone. */
  async #fromLog(): Promise<Batch | 'nothing_yet' | 'gone'> {
    // Messages that arrive while the log is read are kept, and joined to it by their numbers.
    this.#mustRead = false;
    const events = await this.#readPage();
    if (events.length > 0) return this.#deliver(events);
    const end = await this.#reader.end();
    if (end === null) return 'gone';
    if (end === undefined) return 'nothing_yet';
    // The end may have been written between the two looks.
    const rest = await this.#readPage();
    if (rest.length > 0) return this.#deliver(rest);
    const last = await this.#reader.last();
    // Its events have gone from the log without it: the end alone would pass for a whole stream.
    if (last !== undefined && this.#cursor < last) return 'gone';
    const told = this.#hasLostEvents(last) ? lastEvents(end.end, this.#cursor + 1) : [];
    this.#cursor += told.length;
    return { events: told, end: end.end, texts: end.texts };
  }

  /**
   * Whether the reader of an ended response has events that the store has lost. The response has had another end since, under
   * a number that the reader has passed, so the end takes the next numbers. A reader that begins at the last number has been
   * told it, and behind the greatest number there is none.
   */
  #hasLostEvents(last: number | undefined): boolean {
    if (last === undefined || this.#cursor >= Number.MAX_SAFE_INTEGER - 1) return false;
    return this.#hasDelivered ? this.#cursor >= last : this.#cursor > last;
  }

  /** The next events of the log. A slow reader holds a page for as long as it takes, so large events come in few. */
  async #readPage(): Promise<LoggedEvent[]> {
    const asked = this.#pageSize;
    const events = await this.#reader.events(this.#cursor, asked);
    // A page may be cut by its size, so fewer than were asked for does not mean that there are no more.
    if (events.length > 0) {
      this.#mustRead = true;
      const characters = events.reduce((sum, { json }) => sum + json.length, 0);
      const fitting = Math.floor((page.characters * events.length) / characters);
      this.#pageSize = Math.min(Math.max(fitting, 1), page.most);
    }
    return events;
  }

  /** `gone` when the response was deleted between its last event and its end: nobody can tell any more how it ended. */
  async #deliver(events: LoggedEvent[]): Promise<Batch | 'gone'> {
    const last = events.at(-1);
    const isLast = last !== undefined && isTerminalType(typeOf(last.json));
    const end = isLast ? await this.#endOf() : undefined;
    if (end === null) return 'gone';
    // Only now: had the read failed, these events would come again.
    if (last) {
      this.#cursor = last.sequenceNumber;
      this.#hasDelivered = true;
    }
    return { events, end: end?.end, texts: end?.texts };
  }

  #endOf(): Promise<KnownEnd | undefined | null> {
    return this.#end === undefined ? this.#reader.end() : Promise.resolve(parseEnd(this.#end));
  }

  /** True when a message came, false when it is time to ask the log; without a delay that time never comes. */
  #sleep(delayMs: number | undefined, signal: AbortSignal): Promise<boolean> {
    if (this.#hasNews) return Promise.resolve(true);
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', aborted);
        this.#wake = undefined;
        act();
      };
      const aborted = () => settle(() => reject(signal.reason));
      const timer =
        delayMs === undefined ? undefined : setTimeout(() => settle(() => resolve(false)), delayMs);
      signal.addEventListener('abort', aborted, { once: true });
      this.#wake = () => settle(() => resolve(true));
      // It may have come while the log was read.
      if (signal.aborted) aborted();
    });
  }
}
