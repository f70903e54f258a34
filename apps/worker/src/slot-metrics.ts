import type { QueueConsumer } from '@sluice/queue';
import { sampledCounter } from '@sluice/runtime';
import { Gauge, type Registry } from 'prom-client';

export interface SlotsToMeasure {
  /** Names of the queues, as BullMQ has them. */
  names: readonly string[];
  consumer: Pick<QueueConsumer, 'taken' | 'inHand' | 'isTaking'>;
  /** Slots of this process for each queue. */
  slots: number;
}

/** Shows what a worker takes from its queues, and what it could take. */
export function measureSlots(registry: Registry, { names, consumer, slots }: SlotsToMeasure): void {
  const labelNames = ['queue'] as const;
  const registers = [registry];
  const queues = names.map((name) => ({ name, labels: { queue: decodeURIComponent(name) } }));
  new Gauge({
    name: 'sluice_worker_slots',
    help: 'Jobs of a queue that this process may run at once; 0 while it takes none, because it stops or its upstream takes no calls.',
    labelNames,
    registers,
    collect() {
      for (const { name, labels } of queues) this.set(labels, consumer.isTaking(name) ? slots : 0);
    },
  });
  new Gauge({
    name: 'sluice_worker_slots_busy',
    help: 'Jobs of a queue that this process has in hand.',
    labelNames,
    registers,
    collect() {
      for (const { name, labels } of queues) this.set(labels, consumer.inHand(name));
    },
  });
  sampledCounter({
    registry,
    name: 'sluice_worker_jobs_taken_total',
    help: 'Jobs of a queue that this process has taken.',
    labelNames,
    counts: () => queues.map(({ name, labels }) => ({ labels, count: consumer.taken(name) })),
  });
}
