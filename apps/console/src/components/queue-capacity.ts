import type { QueueOverview } from '@sluice/contract/admin';

/**
 * Most that may run at a time: the slots of the workers, and no more than the limit of the queue. Null when neither is known.
 */
export function capacityOf({
  slots,
  concurrency,
}: Pick<QueueOverview, 'slots' | 'concurrency'>): number | null {
  if (slots === null) return concurrency;
  return concurrency === null ? slots : Math.min(slots, concurrency);
}
