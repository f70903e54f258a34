import type { Sums } from './sums.ts';

/** Bins for each doubling of a time: a bin is 19 % wide, and no quantile is further from the true one. */
const perDoubling = 4;

/** The last bin takes every time from 4.7 hours on. */
const lastBin = 24 * perDoubling;

/** The prefix of the bins of each kind of time. A release that does not know a prefix ignores it. */
const prefixes = { firstToken: 'ms', wait: 'wait', run: 'run' } as const;
export type TimeKind = keyof typeof prefixes;

/** The name of the bin that counts a time in milliseconds. The first bin takes all times below one. */
export function binOf(ms: number, kind: TimeKind = 'firstToken'): string {
  const bin = ms < 1 ? 0 : 1 + Math.floor(Math.log2(ms) * perDoubling);
  return `${prefixes[kind]}${Math.min(bin, lastBin)}`;
}

/**
 * The quantile of the counted times for a share, in milliseconds; undefined when none were counted. Times are taken to be even
 * within a bin, so the result is at most one bin away from the true quantile.
 */
export function quantileOf(
  sums: Readonly<Sums>,
  share: number,
  kind: TimeKind = 'firstToken',
): number | undefined {
  const prefix = prefixes[kind];
  const bins: [bin: number, count: number][] = [];
  let total = 0;
  for (const [name, count] of Object.entries(sums)) {
    if (!name.startsWith(prefix) || count <= 0) continue;
    bins.push([Number(name.slice(prefix.length)), count]);
    total += count;
  }
  if (total === 0) return undefined;
  bins.sort(([one], [other]) => one - other);
  const rank = share * total;
  let before = 0;
  for (const [bin, count] of bins) {
    if (before + count >= rank) {
      const [low, high] = [startOf(bin), startOf(bin + 1)];
      return low + (high - low) * ((rank - before) / count);
    }
    before += count;
  }
  return startOf((bins.at(-1)?.[0] ?? 0) + 1);
}

function startOf(bin: number): number {
  return bin === 0 ? 0 : 2 ** ((bin - 1) / perDoubling);
}
