/** The shortest and the longest pause on average, in milliseconds. With 60,000 such responses the pause is the longest. */
const pauseMs = { shortest: 100, longest: 300_000 };

/** Time for each look, in milliseconds: a worker looks at no more than 200 such responses a second. */
const msForEach = 5;

/**
 * The longest pause of a response that is looked at for the first time, in milliseconds; with each look it is twice as long. Another worker may run
 * one that has just come, whatever else waits.
 */
const firstMs = 5_000;

/** Most responses whose looks are counted: as many as may wait by default. */
const mostCounted = 100_000;

export interface LeftToOthersOptions {
  /** For durations, in milliseconds. */
  now: () => number;
  /** From 0 up to 1. */
  random: () => number;
}

/**
 * How long this worker leaves a response alone that only another worker can run, in milliseconds: another release wrote its
 * record, or this worker does not know its model yet.
 *
 * During an upgrade, workers of both releases take from the same queue, and chance decides which of them gets a response. Its
 * caller waits meanwhile, so the response goes back for a short pause, as often as it takes. The more such responses there
 * are, the longer is the pause: if no other worker is left they may wait for days, and must not keep the rest busy. The
 * pause is random, so that workers do not fall into step.
 *
 * Each look takes the next time that is free. The time of one that does not come back, because another worker has run it, passes by itself.
 */
export class LeftToOthers {
  readonly #options: LeftToOthersOptions;
  /** Until when all times for a look are taken. */
  #takenUntil = Number.NEGATIVE_INFINITY;
  /** How often each was looked at since there was a time without one. */
  readonly #looks = new Map<string, number>();

  constructor(options: LeftToOthersOptions) {
    this.#options = options;
  }

  pauseMs(responseId: string): number {
    const now = this.#options.now();
    if (this.#takenUntil <= now) this.#looks.clear();
    const longest = firstMs * 2 ** this.#countLook(responseId);
    const next = Math.max(this.#takenUntil, now) + msForEach;
    this.#takenUntil = Math.min(next, now + pauseMs.longest);
    const average = Math.max(pauseMs.shortest, this.#takenUntil - now);
    return Math.min(average, longest) * (0.5 + this.#options.random());
  }

  /** Counts a look at a response. Returns how many there were before; without end for one that cannot be counted any more. */
  #countLook(responseId: string): number {
    const before = this.#looks.get(responseId);
    if (before === undefined && this.#looks.size >= mostCounted) return Number.POSITIVE_INFINITY;
    this.#looks.set(responseId, (before ?? 0) + 1);
    return before ?? 0;
  }
}
