import type { ResponseRow } from '@sluice/contract/admin';

/** Whether a response waits or runs. The time of an end does not say so: a record alone has none of a failure or a cancellation. */
export function isOpen({ status }: Pick<ResponseRow, 'status'>): boolean {
  return status === 'queued' || status === 'in_progress';
}

type Times = Pick<ResponseRow, 'status' | 'accepted_at' | 'started_at' | 'ended_at'>;

/**
 * From the accept to the first attempt, or to the end of one that never had any, in milliseconds; null when that is not known.
 * The time of an open response goes on until `now`.
 */
export function waitedMs(row: Times, now: number): number | null {
  const until = row.started_at ?? endOf(row, now);
  return until === null ? null : Math.max(0, until - row.accepted_at);
}

/** From the first attempt to the end, in milliseconds; null when there was none, or its end is not known. */
export function ranMs(row: Times, now: number): number | null {
  const until = endOf(row, now);
  return row.started_at === null || until === null ? null : Math.max(0, until - row.started_at);
}

function endOf(row: Times, now: number): number | null {
  return row.ended_at ?? (isOpen(row) ? now : null);
}
