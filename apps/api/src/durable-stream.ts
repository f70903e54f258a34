import { isTerminalType } from '@sluice/contract';
import { frameOf } from './event-stream.ts';
import type { SentEvent } from './responses/event-sink.ts';
import type { StreamFraming } from './sse.ts';

/**
 * The words of the Durable Streams protocol: how a position is written, and how a reader is told where it is.
 *
 * https://github.com/durable-streams/durable-streams/blob/main/PROTOCOL.md
 */

/** Where a stream is behind what was answered. */
export interface StreamPosition {
  /** The number of the next event. */
  next: number;
  isUpToDate: boolean;
  isClosed: boolean;
}

/** Offsets sort as text, so all have the digits of the largest number. */
const offsetDigits = 16;

/** The number of the next event, as an offset. */
export function offsetOf(next: number): string {
  return String(next).padStart(offsetDigits, '0');
}

/** Counting cursors begins here: 9 October 2024, in milliseconds. */
const cursorEpochMs = Date.UTC(2024, 9, 9);
const cursorIntervalMs = 20_000;
/** A cursor that is ahead of the clock goes on by up to an hour. */
const mostCursorJitter = 180;

/**
 * A cursor for a reader that has one, if any. It never goes back, and so no cache between can answer for ever with what it has.
 * `random` is from 0 to below 1.
 */
export function streamCursor(given: string | undefined, nowMs: number, random: () => number): string {
  const current = Math.floor((nowMs - cursorEpochMs) / cursorIntervalMs);
  const last = given === undefined ? -1 : Number(given);
  return String(last < current ? current : last + 1 + Math.floor(random() * mostCursorJitter));
}

/** The headers of an answer at a position; `cursor` belongs to live answers of open streams. */
export function positionHeaders(
  { next, isUpToDate, isClosed }: StreamPosition,
  cursor?: string,
): Record<string, string> {
  return {
    'stream-next-offset': offsetOf(next),
    ...(isUpToDate && { 'stream-up-to-date': 'true' }),
    ...(isClosed && { 'stream-closed': 'true' }),
    ...(cursor !== undefined && { 'stream-cursor': cursor }),
  };
}

/** Frames events as `data` and says behind each of them, in the same write, where the stream is. */
export class DurableFraming implements StreamFraming {
  /** Protocol and clients know caches that share streams; these are of one tenant. */
  readonly cacheControl = 'no-store, no-transform';
  readonly readersReturn = true;
  /** A repeated event would be a message of its own. */
  readonly mayRepeat = false;
  #next: number;
  readonly #cursor: () => string;
  /** How the reader was last told that it stands. */
  #told: 'nothing' | 'more' | 'up_to_date' | 'closed' = 'nothing';

  /** `next` is the number that the reader begins with. */
  constructor({ next, cursor }: { next: number; cursor: () => string }) {
    this.#next = next;
    this.#cursor = cursor;
  }

  frames(events: readonly SentEvent[], isLatest: boolean): string {
    const last = events.at(-1);
    if (!last) return '';
    this.#next = last.sequenceNumber + 1;
    const control = this.#control(isTerminalType(last.type) ? 'closed' : isLatest ? 'up_to_date' : 'more');
    return frameOf('data', `[${events.map(({ json }) => json).join(',')}]`) + control;
  }

  caughtUp(): string {
    return this.#told === 'up_to_date' ? '' : this.#control('up_to_date');
  }

  last(): string {
    return this.#told === 'closed' ? '' : this.#control('closed');
  }

  #control(told: 'more' | 'up_to_date' | 'closed'): string {
    this.#told = told;
    const position = {
      streamNextOffset: offsetOf(this.#next),
      ...(told === 'closed' ? { streamClosed: true } : { streamCursor: this.#cursor() }),
      ...(told !== 'more' && { upToDate: true }),
    };
    return frameOf('control', JSON.stringify(position));
  }
}
