import type { Overview } from '@sluice/contract/admin';

const hourMs = 3_600_000;

/** Merges a newer reading into the one before. Buckets that are older than an hour are left out. */
export function foldOverview(before: Overview, event: Overview): Overview {
  const buckets = new Map(before.buckets.map((bucket) => [bucket.at, bucket]));
  for (const bucket of event.buckets) buckets.set(bucket.at, bucket);
  const kept = [...buckets.values()].toSorted((one, other) => one.at - other.at);
  const newest = kept.at(-1)?.at ?? 0;
  return { ...event, buckets: kept.filter(({ at }) => at > newest - hourMs) };
}

/** The newer of two readings. An answer that was slower than an event does not undo it. */
export function newerOverview(before: Overview | undefined, next: Overview): Overview {
  return before === undefined || next.at >= before.at ? next : foldOverview(next, before);
}
