/** What each name got of a sequence of starts, as a share of 1. Absent names got nothing. */
export function sharesOf(starts: readonly string[]): Map<string, number> {
  const shares = new Map<string, number>();
  for (const name of starts) shares.set(name, (shares.get(name) ?? 0) + 1 / starts.length);
  return shares;
}

/** The starts until the first of the names has had all of its own: up to there, everybody waits. */
export function whileAllWait(
  starts: readonly string[],
  waiting: ReadonlyMap<string, number>,
): readonly string[] {
  const left = new Map(waiting);
  for (const [at, name] of starts.entries()) {
    const rest = (left.get(name) ?? 0) - 1;
    left.set(name, rest);
    if (rest === 0) return starts.slice(0, at + 1);
  }
  return starts;
}

/**
 * The largest distance of a share from what the weight promises, relative to the promise: 0.05 is 5 % more or less than
 * it should be. A name that gets nothing is off by 1. NaN without starts.
 */
export function worstDeviation(starts: readonly string[], weights: ReadonlyMap<string, number>): number {
  if (starts.length === 0) return Number.NaN;
  const shares = sharesOf(starts);
  const all = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  const deviations = [...weights].map(([name, weight]) => {
    const promised = weight / all;
    return Math.abs((shares.get(name) ?? 0) - promised) / promised;
  });
  return Math.max(...deviations);
}

/** The name in a tag `<name>-<number>`. */
export function nameOf(tag: string): string {
  return tag.slice(0, tag.lastIndexOf('-'));
}
