import { backoffMs } from './retry-delay.ts';

/** After a park, a response that was limited leaves the first call to others for this long, in milliseconds. */
const yieldMs = 250;

export interface ParkedRouteOptions {
  /** The longest time that an upstream may ask for, in milliseconds. */
  longestMs: number;
  /** For durations, in milliseconds. */
  now: () => number;
}

/**
 * Knows until when one model of an upstream takes no calls, because it answered that there were too many.
 *
 * It stays parked for what the upstream asked for, up to a cap. An upstream that asks for nothing, or for next to
 * nothing, is parked for a time that doubles as long as it goes on limiting us.
 */
export class ParkedRoute {
  readonly #options: ParkedRouteOptions;
  #until = Number.NEGATIVE_INFINITY;
  /** When it took calls again after the park before the last one. */
  #freeSince = Number.NEGATIVE_INFINITY;
  #calledAt = Number.NEGATIVE_INFINITY;
  /** How often it was limited in a row. Calls that were in flight together count once. */
  #streak = 0;

  constructor(options: ParkedRouteOptions) {
    this.#options = options;
  }

  /** How long it stays parked from now, in milliseconds; 0 when it is not. */
  get waitMs(): number {
    return Math.max(0, this.#until - this.#options.now());
  }

  /** How long a response that was limited leaves the first call after a park to others, from now; 0 when it need not. */
  get yieldsMs(): number {
    return this.#calledAt >= this.#until ? 0 : Math.max(0, this.#until + yieldMs - this.#options.now());
  }

  /** A call begins. */
  called(): void {
    this.#calledAt = this.#options.now();
  }

  /** A call that began at `calledAt` was limited. Parks the route, or leaves it parked for longer. */
  limited(calledAt: number, retryAfterMs: number | undefined): void {
    const { longestMs, now } = this.#options;
    if (calledAt >= this.#until) {
      this.#streak += 1;
      this.#freeSince = this.#until;
    }
    const parkMs = Math.min(Math.max(retryAfterMs ?? 0, backoffMs(this.#streak - 1)), longestMs);
    this.#until = Math.max(this.#until, now() + parkMs);
  }

  /**
   * A call that began at `calledAt` is answered, so the next limit starts a new row. The answer does not count if the call
   * began before the last park but one ended: the upstream may have limited every call since. It counts if the call began
   * together with calls that were limited, because the upstream took this one.
   */
  answered(calledAt: number): void {
    if (calledAt >= this.#freeSince) this.#streak = 0;
  }
}
