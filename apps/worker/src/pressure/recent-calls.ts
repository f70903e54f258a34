const bucketCount = 10;
const bucketMs = 1_000 / bucketCount;

/** Calls of the last second, in buckets. */
export class RecentCalls {
  readonly #buckets = Array.from({ length: bucketCount + 1 }, () => ({ at: -bucketCount, calls: 0 }));

  add(when: number, calls: number): void {
    const at = Math.floor(when / bucketMs);
    const place = at % this.#buckets.length;
    const known = this.#buckets[place];
    if (known?.at === at) known.calls += calls;
    else if (!known || known.at < at) this.#buckets[place] = { at, calls: Math.max(0, calls) };
  }

  /** Calls in the second before a time that is not long ago. */
  sum(before: number): number {
    const newest = Math.floor(before / bucketMs);
    let sum = 0;
    for (const { at, calls } of this.#buckets) if (at > newest - bucketCount && at <= newest) sum += calls;
    return sum;
  }

  clear(): void {
    for (const bucket of this.#buckets) bucket.calls = 0;
  }
}
