import { mostSums, TooManySums, type UsageAnswer, type UsageQuery, type UsageSum } from './usage-database.ts';

/**
 * The buckets that are whole among the rows of `selectSums`, of which there is one more than fits where there is more.
 *
 * @throws {TooManySums} when none is.
 */
export function wholeBuckets(
  rows: UsageSum[],
  { until, most = mostSums }: Pick<UsageQuery, 'until' | 'most'>,
): UsageAnswer {
  const next = rows[most];
  if (!next) return { sums: rows, until };
  const sums = rows.filter(({ hour }) => hour < next.hour);
  if (sums.length === 0) throw new TooManySums(most);
  return { sums, until: next.hour };
}
