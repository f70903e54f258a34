import type { FoundEnd } from '../reading/read-record.ts';
import type { RelayMessage } from './message.ts';

/** How long the end is waited for before it is looked up, in case its message was lost, in milliseconds. */
const pollMs = { first: 1_000, longest: 5_000 };

/** Why somebody stops waiting: the caller has left, or the process stops. */
export type GiveUpReason = 'caller_left' | 'interrupted';

/** The outcome of a wait for an end. */
export type WaitOutcome =
  /** The end as `printEnd` made it, or how long it is when that is too long to be read without room for it. */
  | { kind: 'ended'; end: FoundEnd }
  | { kind: 'gone' }
  | { kind: 'timed_out' }
  /** The one who waited gave up. */
  | { kind: 'given_up'; reason: GiveUpReason };

export interface EndWaitOptions {
  /** The end; undefined while there is none, null when the response is gone. */
  readEnd: () => Promise<FoundEnd | undefined | null>;
  onError: (error: unknown) => void;
  onClose: () => void;
  /** For durations, in milliseconds. */
  now: () => number;
}

/**
 * Somebody waits for a response to end and for nothing else.
 *
 * Listens from its creation, before the accept. Looks nothing up and runs no clock until it is begun, after the accept.
 * Its owner calls `tick` now and then: one timer serves all waits of a process, because a timer, a controller and a
 * race for each were 6 % of an api's time.
 */
export class EndWait {
  readonly #options: EndWaitOptions;
  readonly #settled = Promise.withResolvers<WaitOutcome>();
  #deadline = Number.POSITIVE_INFINITY;
  #pollMs = pollMs.first;
  #nextPoll = Number.POSITIVE_INFINITY;
  #hasBegun = false;
  /** A message may have been missed before the wait began, or since the look that is under way. */
  #mustLook = false;
  #isLooking = false;
  #isClosed = false;
  #settledAs: WaitOutcome | undefined;

  constructor(options: EndWaitOptions) {
    this.#options = options;
  }

  /** Resolves with the outcome of the wait. Never rejects. */
  get outcome(): Promise<WaitOutcome> {
    return this.#settled.promise;
  }

  /** The outcome; undefined while the wait goes on. */
  get settledAs(): WaitOutcome | undefined {
    return this.#settledAs;
  }

  /** Starts the clock: the end is looked up from now on when no message brings it, for `withinMs`. */
  begin(withinMs: number): void {
    const now = this.#options.now();
    this.#deadline = now + withinMs;
    this.#nextPoll = now + this.#pollMs;
    this.#hasBegun = true;
    if (this.#mustLook) this.resync();
  }

  offer({ end }: RelayMessage): void {
    if (end !== undefined) this.#settle({ kind: 'ended', end: { kind: 'read', json: end } });
  }

  /**
   * A message may have been missed, or was too large to be sent: the end is looked up. Before the wait has begun that would
   * find no response, because none is accepted yet, so it is done when it begins. One look is under way at a time, so a
   * store that is slow to answer is not asked ever more.
   */
  resync(): void {
    this.#mustLook = true;
    if (this.#hasBegun && !this.#isLooking) void this.#look();
  }

  /** Does what is due by now. */
  tick(now: number): void {
    if (now >= this.#deadline) {
      this.#settle({ kind: 'timed_out' });
    } else if (now >= this.#nextPoll) {
      this.#pollMs = Math.min(this.#pollMs * 2, pollMs.longest);
      this.#nextPoll = now + this.#pollMs;
      if (!this.#isLooking) this.resync();
    }
  }

  /** Ends the wait before the end has come. */
  giveUp(reason: GiveUpReason): void {
    this.#settle({ kind: 'given_up', reason });
  }

  /** Ends the wait because nobody will hear of the end here: the process has left the cell of the response. */
  cut(): void {
    this.#settle({ kind: 'gone' });
  }

  /** Stops listening. Closing it again does nothing. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.onClose();
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    while (this.#mustLook && !this.#isClosed) {
      this.#mustLook = false;
      try {
        const end = await this.#options.readEnd();
        if (end === null) this.#settle({ kind: 'gone' });
        else if (end !== undefined) this.#settle({ kind: 'ended', end });
      } catch (error) {
        this.#options.onError(error);
      }
    }
    this.#isLooking = false;
  }

  #settle(outcome: WaitOutcome): void {
    this.close();
    this.#settledAs ??= outcome;
    this.#settled.resolve(outcome);
  }
}
