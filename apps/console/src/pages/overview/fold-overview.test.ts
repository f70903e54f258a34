import type { Bucket, Overview } from '@sluice/contract/admin';
import { expect, it } from 'vitest';
import { foldOverview, newerOverview } from './fold-overview.ts';

/** A reading with a bucket for each moment, which accepted so many. */
function reading(at: number, accepted: Record<number, number>): Overview {
  const buckets = Object.entries(accepted).map(([moment, count]) => ({
    at: Number(moment),
    accepted: count,
  }));
  return { at, buckets: buckets as Bucket[] } as Overview; // Nothing else is looked at.
}
const counts = ({ buckets }: Overview) => buckets.map(({ at, accepted }) => [at, accepted]);

it('puts changed buckets in place of the old ones and new ones at the end', () => {
  const folded = foldOverview(reading(30, { 10: 1, 20: 2, 30: 3 }), reading(45, { 30: 5, 40: 1 }));
  expect(folded.at).toBe(45);
  expect(counts(folded)).toEqual([
    [10, 1],
    [20, 2],
    [30, 5],
    [40, 1],
  ]);
});

it('keeps an hour', () => {
  const folded = foldOverview(
    reading(20_000, { 10_000: 1, 20_000: 2 }),
    reading(3_610_000, { 3_610_000: 3 }),
  );
  expect(counts(folded)).toEqual([
    [20_000, 2],
    [3_610_000, 3],
  ]);
});

it('does not let a slow answer undo a newer event', () => {
  const event = reading(45, { 30: 5, 40: 1 });
  const slow = reading(35, { 10: 1, 20: 2, 30: 3 });
  const kept = newerOverview(event, slow);
  expect(kept.at).toBe(45);
  expect(counts(kept)).toEqual([
    [10, 1],
    [20, 2],
    [30, 5],
    [40, 1],
  ]);
  expect(newerOverview(slow, event)).toBe(event);
  expect(newerOverview(undefined, slow)).toBe(slow);
});
