import type { QueueOverview } from '@sluice/contract/admin';

/** Most that may run at a time: the slots of the workers, and no more than the limit of the queue. */
export function capacityOf({ slots, concurrency }: Pick<QueueOverview, 'slots' | 'concurrency'>): number {
  return concurrency === null ? slots : Math.min(slots, concurrency);
}
