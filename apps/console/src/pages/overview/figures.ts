import type { Bucket, Overview, QueueOverview } from '@sluice/contract/admin';
import { capacityOf } from '../../components/queue-capacity.ts';

type Counted = Exclude<keyof Bucket, 'at' | `${string}_ms`>;

/** The counts of the last `seconds`. */
export interface Recent {
  buckets: readonly Bucket[];
  seconds: number;
  sum: (key: Counted) => number;
  /** Per second. */
  rate: (key: Counted) => number;
}

/** Shorter than this, a rate is noise. */
const leastSeconds = 5;

/** The newest buckets that together reach back at least `spanMs`, the present one included; undefined without statistics. */
export function recentOf(
  { at, buckets }: Pick<Overview, 'at' | 'buckets'>,
  spanMs: number,
): Recent | undefined {
  const from = buckets.findLastIndex((bucket) => bucket.at <= at - spanMs);
  const recent = buckets.slice(Math.max(0, from));
  const [first] = recent;
  if (first === undefined) return undefined;
  const seconds = Math.max(leastSeconds, (at - first.at) / 1000);
  const sum = (key: Counted) => recent.reduce((total, bucket) => total + bucket[key], 0);
  return { buckets: recent, seconds, sum, rate: (key) => sum(key) / seconds };
}

/** Buckets that a chart shows at least: five minutes of those of ten seconds. */
const leastShown = 30;

/** The buckets from the first one on in which anything happened: a service that has just begun has no hour behind it. */
export function fitting(buckets: readonly Bucket[], least = leastShown): readonly Bucket[] {
  const first = buckets.findIndex((bucket) => countedKeys.some((key) => bucket[key] > 0));
  const latest = Math.max(0, buckets.length - least);
  return buckets.slice(first < 0 ? latest : Math.min(first, latest));
}

/**
 * The share of failed responses among those that ended by themselves, 0 to 1; null when none did. A cancelled one is no
 * error.
 */
export function errorRate(counts: Pick<Recent, 'sum'>): number | null {
  const failed = counts.sum('failed');
  const ended = failed + counts.sum('completed') + counts.sum('incomplete');
  return ended === 0 ? null : failed / ended;
}

/** The share of refused requests, 0 to 1; null when none came. */
export function refusalRate(counts: Pick<Recent, 'sum'>): number | null {
  const refused = counts.sum('refused');
  const came = refused + counts.sum('accepted');
  return came === 0 ? null : refused / came;
}

/** The newest first-token times of the last `spanMs`; undefined when no stream had an output in it. */
export function latestFirstToken(
  { at, buckets }: Pick<Overview, 'at' | 'buckets'>,
  spanMs: number,
): { p50: number; p99: number } | undefined {
  const found = buckets.findLast((bucket) => bucket.first_token_p50_ms !== null && bucket.at > at - spanMs);
  if (!found || found.first_token_p50_ms === null || found.first_token_p99_ms === null) return undefined;
  return { p50: found.first_token_p50_ms, p99: found.first_token_p99_ms };
}

/** All queues as one. */
export function queueSums(queues: readonly QueueOverview[]) {
  return {
    active: queues.reduce((sum, { active }) => sum + active, 0),
    capacity: queues.reduce((sum, queue) => sum + (capacityOf(queue) ?? 0), 0),
    waiting: queues.reduce((sum, { waiting }) => sum + waiting, 0),
    oldestWaitMs: queues.reduce<number | null>(
      (oldest, { oldest_wait_ms: wait }) => (wait === null ? oldest : Math.max(oldest ?? 0, wait)),
      null,
    ),
  };
}

const minuteMs = 60_000;

/**
 * The counts of minutes: bars of ten seconds would be too thin to tell apart. A first minute whose beginning is gone is left out,
 * because it would look like a quiet one.
 */
export function byMinute(buckets: readonly Bucket[]): Record<Counted | 'at', number>[] {
  const minutes = new Map<number, Record<Counted | 'at', number>>();
  for (const bucket of buckets) {
    const at = Math.floor(bucket.at / minuteMs) * minuteMs;
    const minute = minutes.get(at) ?? { ...nothing, at };
    for (const key of countedKeys) minute[key] += bucket[key];
    minutes.set(at, minute);
  }
  const isCut = (buckets[0]?.at ?? 0) % minuteMs !== 0 && minutes.size > 1;
  return [...minutes.values()].slice(isCut ? 1 : 0);
}

const nothing: Record<Counted, number> = {
  accepted: 0,
  completed: 0,
  incomplete: 0,
  failed: 0,
  cancelled: 0,
  refused: 0,
  input_tokens: 0,
  output_tokens: 0,
};
const countedKeys = Object.keys(nothing) as Counted[]; // Its own keys.
