import type { ResponseEnd } from '@sluice/contract';
import { isTerminalType } from '@sluice/contract';
import type { RelayMessage } from './message.ts';
import { type LoggedEvent, typeOf } from './read.ts';
import { parseEnd } from './record.ts';

/** Live events kept for one reader, in characters of JSON; a reader that falls behind is served from the log. */
const maxBuffered = 256 * 1024;

/** Events read from the log at once. */
const pageSize = 200;

/** First and longest wait for a message before the log is asked, in milliseconds. */
const pollMs = { first: 1_000, longest: 5_000 };

/** What a subscription reads when it cannot go on from what it was sent. */
export interface LogReader {
  events(cursor: number, count: number): Promise<LoggedEvent[]>;
  /** The end of the response, as JSON, or undefined while there is none; null when the response is gone. */
  end(): Promise<string | undefined | null>;
}

/** A piece of a stream: events after the cursor and, with the last of them, what the end added. */
export interface Batch {
  events: LoggedEvent[];
  end: ResponseEnd | undefined;
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
  #end: string | undefined;
  #wake: (() => void) | undefined;
  readonly #reader: LogReader;
  readonly #onClose: () => void;
  #isClosed = false;

  /** `cursor` is the last number the reader has; with `readFirst` the log is read before anything is awaited. */
  constructor(options: { cursor: number; readFirst: boolean; reader: LogReader; onClose: () => void }) {
    this.#cursor = options.cursor;
    this.#mustRead = options.readFirst;
    this.#reader = options.reader;
    this.#onClose = options.onClose;
  }

  /** Takes a live message. Never blocks, never grows past its bound. */
  offer(message: RelayMessage): void {
    if (message.end) this.#end = message.end.result;
    for (const event of message.events) {
      this.#pending.push(event);
      this.#buffered += event.json.length;
    }
    if (this.#buffered > maxBuffered) this.#fallBehind();
    this.#wake?.();
  }

  /** Something may have been missed: the next batch comes from the log. */
  resync(): void {
    this.#mustRead = true;
    this.#wake?.();
  }

  /**
   * The next events, as soon as there are any; undefined when the response no longer exists.
   *
   * After the batch with the end nothing follows. Rejects with the signal's reason when it is aborted.
   */
  async next(signal: AbortSignal): Promise<Batch | undefined> {
    let wait = pollMs.first;
    for (;;) {
      signal.throwIfAborted();
      const events = this.#mustRead ? await this.#fromLog() : this.#fromBuffer();
      if (events.length > 0) return this.#deliver(events);
      if (this.#mustRead) continue;
      const woken = await this.#sleep(wait, signal);
      if (woken) continue;
      if ((await this.#poll()) === 'gone') return undefined;
      wait = Math.min(wait * 2, pollMs.longest);
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#pending = [];
    this.#onClose();
  }

  #fromBuffer(): LoggedEvent[] {
    const events = this.#pending.filter((event) => event.sequenceNumber > this.#cursor);
    this.#pending = [];
    this.#buffered = 0;
    const first = events[0];
    if (first && first.sequenceNumber !== this.#cursor + 1) {
      // A hole: what is behind it is in the log as well.
      this.#mustRead = true;
      return [];
    }
    return events;
  }

  async #fromLog(): Promise<LoggedEvent[]> {
    // What arrives while the log is read is kept and joined at the seam by its numbers.
    const events = await this.#reader.events(this.#cursor, pageSize);
    if (events.length < pageSize) this.#mustRead = false;
    return events;
  }

  async #deliver(events: LoggedEvent[]): Promise<Batch> {
    const last = events.at(-1);
    if (last) this.#cursor = last.sequenceNumber;
    if (!last || !isTerminalType(typeOf(last.json))) return { events, end: undefined };
    const end = this.#end ?? (await this.#reader.end());
    return { events, end: end == null ? undefined : parseEnd(end) };
  }

  async #poll(): Promise<'gone' | 'there'> {
    const end = await this.#reader.end();
    this.#mustRead = true;
    return end === null ? 'gone' : 'there';
  }

  #fallBehind(): void {
    this.#pending = [];
    this.#buffered = 0;
    this.#mustRead = true;
  }

  /** True when a message came, false when it is time to ask the log. */
  #sleep(delayMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', aborted);
        this.#wake = undefined;
        act();
      };
      const aborted = () => settle(() => reject(signal.reason));
      const timer = setTimeout(() => settle(() => resolve(false)), delayMs);
      signal.addEventListener('abort', aborted, { once: true });
      this.#wake = () => settle(() => resolve(true));
    });
  }
}
