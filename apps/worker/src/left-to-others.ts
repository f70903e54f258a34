/** The shortest and the longest pause on average, in milliseconds. */
const pauseMs = { shortest: 100, longest: 5_000 };

/** Pause for each such response, in milliseconds: a worker looks at no more than 200 of them a second. */
const msForEach = 5;

/** Most responses that are remembered. With as many the pause is the longest. */
const mostRemembered = pauseMs.longest / msForEach;

/** When a response that did not come back is forgotten, in milliseconds: another worker has run it. */
const rememberedMs = 2 * pauseMs.longest;

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
 */
export class LeftToOthers {
  readonly #options: LeftToOthersOptions;
  /** When each came last, by id; the oldest first. */
  readonly #seen = new Map<string, number>();

  constructor(options: LeftToOthersOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#seen.size;
  }

  pauseMs(responseId: string): number {
    const now = this.#options.now();
    this.#seen.delete(responseId);
    this.#seen.set(responseId, now);
    for (const [id, seen] of this.#seen) {
      if (seen > now - rememberedMs && this.#seen.size <= mostRemembered) break;
      this.#seen.delete(id);
    }
    const average = Math.max(pauseMs.shortest, this.#seen.size * msForEach);
    return average * (0.5 + this.#options.random());
  }
}
