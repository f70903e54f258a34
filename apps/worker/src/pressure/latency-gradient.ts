/** Answers that are looked at together. */
const windowSize = 20;

/** The weight of one answer in the average of its kind, and how many it takes before that means anything. */
const average = { weight: 0.002, fewest: 10 };

/** When answers take less than a share of what is usual, the averages are too high. A window leaves so much of them. */
const drift = { below: 0.5, share: 0.95 };

/** How much of a gradient is applied at once, and the lowest gradient. */
const smoothing = 0.2;
const lowestGradient = 0.5;

/**
 * Estimates the load of an upstream from its time to first token, after the Gradient2 limit of Netflix's concurrency-limits:
 * the usual time divided by the present one.
 *
 * The time to first token has nothing to do with how long an answer is. It depends on the length of the prompt, so each
 * answer is compared with the average of prompts of its size, within a factor of two. The median over a window decides:
 * noise, a few slow answers and a mix of prompts that changes do not move it.
 */
export class LatencyGradient {
  readonly #tolerance: number;
  readonly #averages = new Map<number, { ms: number; count: number }>();
  #ratios: { tenant: string; ratio: number }[] = [];

  /** `tolerance`: up to this multiple of the usual time nothing is amiss. */
  constructor(tolerance: number) {
    this.#tolerance = tolerance;
  }

  /**
   * Adds the time to first token of a prompt of some size, in any unit. At the end of a window, returns the share to which the
   * limit falls, 1 at most, and the tenants whose answers were slow if it falls. Returns undefined before that.
   */
  add(tenant: string, size: number, firstTokenMs: number): { share: number; slow: string[] } | undefined {
    const kind = Math.ceil(Math.log2(Math.max(1, size)));
    const known = this.#averages.get(kind) ?? { ms: firstTokenMs, count: 0 };
    if (known.count >= average.fewest)
      this.#ratios.push({ tenant, ratio: firstTokenMs / Math.max(known.ms, 1) });
    // The first ones count alike.
    const weight = Math.max(average.weight, 1 / (known.count + 1));
    this.#averages.set(kind, {
      ms: known.ms + (firstTokenMs - known.ms) * weight,
      count: known.count + 1,
    });
    if (this.#ratios.length < windowSize) return undefined;
    const sorted = this.#ratios.toSorted((one, other) => one.ratio - other.ratio);
    const ratio = sorted[windowSize / 2]?.ratio ?? 1;
    this.#ratios = [];
    if (ratio < drift.below) for (const each of this.#averages.values()) each.ms *= drift.share;
    const gradient = Math.max(lowestGradient, Math.min(1, this.#tolerance / ratio));
    const slow = sorted.filter((each) => each.ratio > this.#tolerance).map(({ tenant: of }) => of);
    return { share: 1 - smoothing * (1 - gradient), slow: gradient < 1 ? [...new Set(slow)] : [] };
  }
}
