const tries = 3;

/**
 * How many times longer work on some values takes than parsing them from JSON, by the fastest run of each.
 *
 * It tells work that looks at each value once, which costs about as much as parsing, from work that looks at all the
 * others for each: with thousands of values that costs hundreds of times as much. The speed of the machine cancels out.
 * `prepare` is not timed. Further runs are only made while the result is above `limit`.
 */
export function costAgainstParsing(
  values: readonly unknown[],
  prepare: () => () => void,
  limit: number,
): number {
  const json = JSON.stringify(values);
  const parsing = Math.min(...Array.from({ length: tries }, () => milliseconds(() => JSON.parse(json))));
  let working = Number.POSITIVE_INFINITY;
  for (let at = 0; at < tries && working > limit * parsing; at += 1) {
    working = Math.min(working, milliseconds(prepare()));
  }
  return working / parsing;
}

function milliseconds(work: () => void): number {
  const begun = performance.now();
  work();
  return performance.now() - begun;
}
