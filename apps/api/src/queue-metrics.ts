import type { ReadQueue } from '@sluice/operator';
import type { ResponseQueues } from '@sluice/queue';
import { Gauge, type Registry } from 'prom-client';

/** A reading that is younger is not made again, in milliseconds: all gauges of a scrape share one, and so do scrapers. */
const freshMs = 1_000;

export interface QueuesToMeasure {
  queue: Pick<ResponseQueues, 'names' | 'counts'>;
  /** The jobs in each queue, and how long the oldest of them has waited. */
  read: () => Promise<readonly ReadQueue[]>;
  /** The queues with a limit on what runs at once over all workers. */
  limits: () => ReadonlyMap<string, number>;
  /** For durations, in milliseconds; `performance.now` by default. */
  now?: () => number;
}

/**
 * Shows what there is in the queues, which is the same from every api process. While the store is away there is no figure,
 * which is better than an old one.
 */
export function measureQueues(
  registry: Registry,
  { queue, read, limits, now = () => performance.now() }: QueuesToMeasure,
): void {
  const registers = [registry];
  const readings = shared(read, now);
  const counts = shared(async () => {
    const { names } = queue;
    return { names, counted: await Promise.allSettled(names.map((name) => queue.counts(name))) };
  }, now);
  new Gauge({
    name: 'sluice_queue_jobs',
    help: 'Jobs by state. The same from every api process: take one of them.',
    labelNames: ['queue', 'state'],
    registers,
    async collect() {
      const { names, counted } = await counts();
      this.reset();
      for (const [at, each] of counted.entries()) {
        if (each.status === 'rejected') continue;
        for (const [state, count] of Object.entries(each.value)) {
          this.set({ queue: decodeURIComponent(names[at] ?? ''), state }, count);
        }
      }
    },
  });
  for (const { name, help, of } of gauges) {
    new Gauge({
      name,
      help,
      labelNames: ['queue'],
      registers,
      async collect() {
        const all = await readings().catch(() => []);
        this.reset();
        for (const each of all) this.set({ queue: each.queue }, of(each));
      },
    });
  }
  new Gauge({
    name: 'sluice_queue_concurrency_limit',
    help: 'Jobs that may run at once over all workers; absent for a queue without a limit.',
    labelNames: ['queue'],
    registers,
    collect() {
      this.reset();
      for (const [name, most] of limits()) this.set({ queue: name }, most);
    },
  });
}

const gauges: readonly { name: string; help: string; of: (read: ReadQueue) => number }[] = [
  {
    name: 'sluice_queue_oldest_wait_seconds',
    help: 'How long the oldest response has waited since its accept, those included that wait for a time or for a place of their tenant; 0 when none waits.',
    of: ({ oldestWaitMs = 0 }) => oldestWaitMs / 1000,
  },
  {
    name: 'sluice_queue_oldest_ready_wait_seconds',
    help: 'The same of the oldest response that a worker could take now.',
    of: ({ oldestReadyWaitMs = 0 }) => oldestReadyWaitMs / 1000,
  },
  {
    name: 'sluice_queue_paused',
    help: 'Whether an operator has paused the queue: 1 or 0.',
    of: ({ depth }) => Number(depth.isPaused),
  },
];

/** Calls at most once at a time and once in a while, however many ask. A failed call is not kept. */
function shared<Result>(read: () => Promise<Result>, now: () => number): () => Promise<Result> {
  let latest: { result: Promise<Result>; at: number } | undefined;
  return () => {
    if (latest && now() - latest.at < freshMs) return latest.result;
    const reading = { result: read(), at: now() };
    latest = reading;
    reading.result.catch(() => {
      if (latest === reading) latest = undefined;
    });
    return reading.result;
  };
}
