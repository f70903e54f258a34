/** Runs at each size, of which the median counts: a pause of the machine during one of them changes nothing. */
const runs = 3;

/**
 * How many times longer eight times the work takes. About 8 means that a piece of the work costs the same however much
 * of it there is; 64 means that each piece looks at all the others.
 *
 * `prepare` makes the work of a size and is not timed. `size` should take some milliseconds, so that the clock can tell.
 */
export function growthOfTime(size: number, prepare: (size: number) => () => void): number {
  // Code that is still being compiled is slow at any size.
  prepare(size)();
  return medianMs(8 * size, prepare) / medianMs(size, prepare);
}

/** What `growthOfTime` is below for work that is linear: far from both, because machines are busy. */
export const linearGrowth = 24;

function medianMs(size: number, prepare: (size: number) => () => void): number {
  const times = Array.from({ length: runs }, () => {
    const work = prepare(size);
    const begun = performance.now();
    work();
    return performance.now() - begun;
  });
  return times.toSorted((a, b) => a - b)[Math.floor(runs / 2)] ?? 0;
}
