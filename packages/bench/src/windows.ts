/** Something that counts against a limit: a request, or the tokens of one. */
export interface Counted {
  /** Milliseconds. */
  at: number;
  amount: number;
}

export interface WindowSums {
  /** The largest sum of any window. */
  most: number;
  /** The smallest sum of a window that lies between `from` and `to`. NaN if none does. */
  fewest: number;
}

/**
 * The sums of all windows of a length. A window holds what came at its first moment and not what came at its end, so it
 * may begin again when it is over.
 */
export function windowSums(
  counted: readonly Counted[],
  { lengthMs, from, to }: { lengthMs: number; from: number; to: number },
): WindowSums {
  const sorted = counted.toSorted((a, b) => a.at - b.at);
  // A sum changes only where a window begins to hold something (it then ends just behind it) or holds it no longer.
  let most = 0;
  let sum = 0;
  let first = 0;
  for (const { at, amount } of sorted) {
    sum += amount;
    for (let oldest = sorted[first]; oldest && oldest.at <= at - lengthMs; oldest = sorted[first]) {
      sum -= oldest.amount;
      first += 1;
    }
    most = Math.max(most, sum);
  }
  // The smallest sums are those of windows that begin just behind something, and the first one.
  const starts = [from, ...sorted.map(({ at }) => at + smallestMs)];
  const sums = starts
    .filter((start) => start >= from && start + lengthMs <= to)
    .map((start) => sumBetween(sorted, start, start + lengthMs));
  return { most, fewest: sums.length === 0 ? Number.NaN : Math.min(...sums) };
}

/** Less than the resolution of the times. */
const smallestMs = 0.001;

function sumBetween(sorted: readonly Counted[], from: number, to: number): number {
  let sum = 0;
  for (const { at, amount } of sorted) if (at >= from && at < to) sum += amount;
  return sum;
}

/** The sum of the window that ends at each moment of a grid, for a plot. */
export function runningSums(
  counted: readonly Counted[],
  { lengthMs, from, to, stepMs }: { lengthMs: number; from: number; to: number; stepMs: number },
): [at: number, sum: number][] {
  const sums: [number, number][] = [];
  for (let at = from; at <= to; at += stepMs) sums.push([at, sumBetween(counted, at - lengthMs, at)]);
  return sums;
}
