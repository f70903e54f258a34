/** Buckets from one power of two to the next. The width of a bucket is at most 1/256 of its values. */
const perDoubling = 256;
/** Below this many microseconds each one has a bucket of its own. */
const exactBelow = perDoubling * 2;
/** The longest time that is told apart from longer ones: 2^32 - 1 microseconds, or 71 minutes. */
const mostMicros = 4_294_967_295;

/** A summary of durations in milliseconds. */
export interface Distribution {
  count: number;
  mean: number;
  min: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
}

/**
 * Counts durations in buckets, so that memory does not grow with their number: 17 KiB for anything up to 10 s.
 *
 * The count, the mean, the smallest and the largest are exact to the microsecond. Percentiles are by nearest rank and at
 * most 0.2 % off, because the middle of a bucket stands for what is in it.
 */
export class Histogram {
  #counts = new Uint32Array(0);
  #count = 0;
  #sumMicros = 0;
  #minMicros = Number.POSITIVE_INFINITY;
  #maxMicros = 0;

  get count(): number {
    return this.#count;
  }

  /** Adds a duration in milliseconds. A negative one, which a clock may give, counts as 0. */
  add(durationMs: number): void {
    const micros = Math.min(mostMicros, Math.max(0, Math.round(durationMs * 1000)));
    const at = bucketOf(micros);
    if (at >= this.#counts.length) this.#grow(at);
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#count += 1;
    this.#sumMicros += micros;
    this.#minMicros = Math.min(this.#minMicros, micros);
    this.#maxMicros = Math.max(this.#maxMicros, micros);
  }

  /** The duration in milliseconds below or at which a share of all lies, from 0 to 1. NaN when there is none. */
  percentile(share: number): number {
    if (this.#count === 0) return Number.NaN;
    const rank = Math.max(1, Math.ceil(this.#count * share));
    if (rank === this.#count) return this.#maxMicros / 1000;
    let seen = 0;
    for (let at = 0; at < this.#counts.length; at++) {
      seen += this.#counts[at] ?? 0;
      if (seen >= rank) {
        const micros = Math.min(this.#maxMicros, Math.max(this.#minMicros, middleOf(at)));
        return micros / 1000;
      }
    }
    return this.#maxMicros / 1000;
  }

  /** Undefined when there is none. */
  distribution(): Distribution | undefined {
    if (this.#count === 0) return undefined;
    return {
      count: this.#count,
      mean: this.#sumMicros / this.#count / 1000,
      min: this.#minMicros / 1000,
      p50: this.percentile(0.5),
      p90: this.percentile(0.9),
      p99: this.percentile(0.99),
      max: this.#maxMicros / 1000,
    };
  }

  #grow(at: number): void {
    const grown = new Uint32Array(Math.max(exactBelow, Math.ceil((at + 1) / perDoubling) * perDoubling));
    grown.set(this.#counts);
    this.#counts = grown;
  }
}

function bucketOf(micros: number): number {
  if (micros < exactBelow) return micros;
  const doublings = doublingsOf(micros);
  return doublings * perDoubling + Math.floor(micros / 2 ** doublings);
}

/** How often the value must be halved until it is below `exactBelow`. */
function doublingsOf(micros: number): number {
  return 32 - Math.clz32(micros) - 9; // `exactBelow` has nine bits below it.
}

function middleOf(bucket: number): number {
  if (bucket < exactBelow) return bucket;
  const doublings = Math.floor(bucket / perDoubling) - 1;
  const width = 2 ** doublings;
  return (bucket - doublings * perDoubling) * width + (width - 1) / 2;
}
