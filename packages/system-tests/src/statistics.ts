/** The value below which a share of the samples lies, by nearest rank. NaN if there are none. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** Numbers from 0 to below 1. The same seed gives the same numbers, so that a run can be repeated. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    // mulberry32 is small, and good enough to choose where a stream is cut.
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Does a number of pieces of work, several at a time. Rejects with the first failure. */
export async function concurrently(
  count: number,
  atATime: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const index = next;
      next += 1;
      await work(index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atATime, count) }, lane));
}
