import type { QueueConsumer } from '@sluice/queue';
import { readGauges, sampledCounter } from '@sluice/runtime';
import type { Registry } from 'prom-client';

export interface SlotsToMeasure {
  /** Names of the queues, as BullMQ has them, read at each scrape. */
  names: () => readonly string[];
  consumer: Pick<QueueConsumer, 'taken' | 'inHand' | 'isTaking'>;
  /** Slots of this process for each queue. */
  slots: number;
}

/** Shows how many jobs a worker takes from its queues, and how many it could take. */
export function measureSlots(registry: Registry, { names, consumer, slots }: SlotsToMeasure): void {
  const queues = () => names().map((name) => ({ name, queue: decodeURIComponent(name) }));
  readGauges(registry, [
    {
      name: 'sluice_worker_slots',
      help: 'Jobs of a queue that this process may run at once; 0 while it takes none, because it stops or its upstream takes no calls.',
      labels: ['queue'],
      read: (set) => {
        for (const { name, queue } of queues()) set([queue], consumer.isTaking(name) ? slots : 0);
      },
    },
    {
      name: 'sluice_worker_slots_busy',
      help: 'Jobs of a queue that this process has in hand.',
      labels: ['queue'],
      read: (set) => {
        for (const { name, queue } of queues()) set([queue], consumer.inHand(name));
      },
    },
  ]);
  sampledCounter({
    registry,
    name: 'sluice_worker_jobs_taken_total',
    help: 'Jobs of a queue that this process has taken.',
    labelNames: ['queue'],
    counts: () => queues().map(({ name, queue }) => ({ labels: { queue }, count: consumer.taken(name) })),
  });
}
