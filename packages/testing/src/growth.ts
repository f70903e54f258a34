/** How many times more work the larger size is. */
const factor = 8;

/** What `growthOfTime` is below for work that is linear; between the 8 of such work and the 64 of work that is quadratic. */
export const linearGrowth = 24;

/** A collector at work, or another process, spoils a measurement, but not all of them. */
const tries = { ofSmall: 5, ofLarge: 4 };

/**
 * How many times longer eight times the work takes, by the fastest run of each. About 8 means that a piece of the work
 * costs the same however much of it there is; 64 means that each piece looks at all the others.
 *
 * `prepare` makes the work of a size and is not timed. `size` should take some milliseconds.
 */
export function growthOfTime(size: number, prepare: (size: number) => () => void): number {
  const small = Math.min(...Array.from({ length: tries.ofSmall }, () => milliseconds(prepare(size))));
  let large = Number.POSITIVE_INFINITY;
  for (let at = 0; at < tries.ofLarge && large / small >= linearGrowth; at += 1) {
    large = Math.min(large, milliseconds(prepare(factor * size)));
  }
  return large / small;
}

function milliseconds(work: () => void): number {
  const begun = performance.now();
  work();
  return performance.now() - begun;
}
