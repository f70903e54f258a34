import type { Failure } from './failure.ts';
import type { Tokens } from './response-end.ts';

/** How a request ended. Times are those of `performance.now()`. */
export type Outcome =
  | {
      kind: 'answered';
      /** When the response had its end. */
      endedAt: number;
      /** The first delta of a stream that had one. */
      firstDeltaAt?: number | undefined;
      /** When a response in the background was accepted. */
      acceptedAt?: number;
      /** Undefined when the endpoint sends no usage. */
      tokens: Tokens | undefined;
      /** Events with a piece of output. */
      deltas: number;
    }
  | { kind: 'failed'; failure: Failure }
  /** The run was ended before the request was. */
  | { kind: 'unfinished' };

/** Hears of events on the way to an outcome. */
export interface Witness {
  /** The time between two deltas of a stream, in milliseconds. */
  gap(gapMs: number): void;
  /** A 429, of a request or of a poll, and how long it said to wait, in milliseconds. */
  limited(retryAfterMs: number | undefined): void;
  retried(): void;
  polled(): void;
}
