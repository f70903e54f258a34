/** Buckets of the window. The oldest calls leave it a bucket at a time. */
const bucketCount = 10;

/** Calls of the recent past, in a ring of buckets, each for its share of the time. */
export class CallWindow {
  readonly #bucketMs: number;
  readonly #buckets = Array.from({ length: bucketCount }, () => ({
    at: -bucketCount,
    calls: 0,
    failures: 0,
  }));

  constructor(windowMs: number) {
    this.#bucketMs = windowMs / bucketCount;
  }

  add(now: number, isFailure: boolean): void {
    const at = Math.floor(now / this.#bucketMs);
    const place = at % bucketCount;
    const known = this.#buckets[place];
    const bucket = known?.at === at ? known : { at, calls: 0, failures: 0 };
    bucket.calls += 1;
    if (isFailure) bucket.failures += 1;
    this.#buckets[place] = bucket;
  }

  clear(): void {
    for (const bucket of this.#buckets) bucket.at = Number.NEGATIVE_INFINITY;
  }

  sum(now: number): { calls: number; failures: number } {
    const oldest = Math.floor(now / this.#bucketMs) - bucketCount;
    const sum = { calls: 0, failures: 0 };
    for (const bucket of this.#buckets) {
      if (bucket.at <= oldest) continue;
      sum.calls += bucket.calls;
      sum.failures += bucket.failures;
    }
    return sum;
  }
}
