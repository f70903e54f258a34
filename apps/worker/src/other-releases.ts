/** The shortest and the longest pause on average, in milliseconds. */
const pauseMs = { shortest: 100, longest: 5_000 };

/** Time of this worker that each such response is worth, in milliseconds: it looks at no more than 200 a second. */
const msForEach = 5;

/** Responses that are remembered: with these the pause is the longest. */
const mostRemembered = pauseMs.longest / msForEach;

/** When a response that did not come back is forgotten, in milliseconds: somebody else has run it. */
const rememberedMs = 2 * pauseMs.longest;

export interface OtherReleasesOptions {
  /** For durations, in milliseconds. */
  now: () => number;
  /** From 0 up to 1. */
  random: () => number;
}

/**
 * How long this worker leaves a response alone whose record another release wrote, in milliseconds.
 *
 * While one release replaces the other, workers of both take from the same queue, and chance decides which of them gets a response. Its
 * caller waits meanwhile, so it is offered again at once, as often as it takes. The more of them there are the longer is the pause: where no
 * worker is left that knows them they may wait for days, and are not to keep the others busy. The pause is random, so that nothing falls
 * into step with it.
 */
export class OtherReleases {
  readonly #options: OtherReleasesOptions;
  /** By id, when each came last; the longest ago first. */
  readonly #seen = new Map<string, number>();

  constructor(options: OtherReleasesOptions) {
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
