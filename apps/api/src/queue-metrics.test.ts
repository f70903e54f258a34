import type { ReadQueue } from '@sluice/operator';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { measureQueues, type QueuesToMeasure } from './queue-metrics.ts';

const counts = { waiting: 0, prioritized: 3, active: 1, delayed: 0, completed: 5, failed: 0, paused: 0 };

function aQueue(queue: string, more: Partial<ReadQueue> = {}): ReadQueue {
  const depth = { waiting: 0, active: 0, isPaused: false, oldest: undefined, oldestReady: undefined };
  return { queue, depth, oldestWaitMs: undefined, oldestReadyWaitMs: undefined, ...more };
}

function measured(more: Partial<QueuesToMeasure> = {}): Registry {
  const registry = new Registry();
  measureQueues(registry, {
    queue: { names: ['m', 'team%2Fm'], counts: () => Promise.resolve(counts) },
    read: () => Promise.resolve([aQueue('m'), aQueue('team/m')]),
    limits: () => new Map(),
    ...more,
  });
  return registry;
}

describe('the metrics of the queues', () => {
  it('tell the depth by queue and state', async () => {
    const text = await measured().metrics();
    expect(text).toContain('sluice_queue_jobs{queue="m",state="prioritized"} 3');
    expect(text).toContain('sluice_queue_jobs{queue="team/m",state="active"} 1');
  });

  it('tell how long the oldest has waited, of all and of what a worker could take, and what is paused', async () => {
    const { depth } = aQueue('m');
    const read = [
      aQueue('m', { oldestWaitMs: 90_000, oldestReadyWaitMs: 1_500 }),
      aQueue('team/m', { depth: { ...depth, isPaused: true } }),
    ];
    const text = await measured({
      read: () => Promise.resolve(read),
      limits: () => new Map([['m', 4]]),
    }).metrics();
    expect(text).toContain('sluice_queue_oldest_wait_seconds{queue="m"} 90\n');
    expect(text).toContain('sluice_queue_oldest_ready_wait_seconds{queue="m"} 1.5');
    expect(text).toContain('sluice_queue_oldest_wait_seconds{queue="team/m"} 0');
    expect(text).toContain('sluice_queue_paused{queue="team/m"} 1');
    expect(text).toContain('sluice_queue_paused{queue="m"} 0');
    expect(text).toContain('sluice_queue_concurrency_limit{queue="m"} 4');
    expect(text).not.toContain('sluice_queue_concurrency_limit{queue="team/m"}');
  });

  it('are left out while the store does not answer, and are back at the next scrape', async () => {
    let isAway = false;
    let atMs = 0;
    const away = () => Promise.reject(new Error('Command timed out'));
    const registry = measured({
      queue: { names: ['m'], counts: () => (isAway ? away() : Promise.resolve(counts)) },
      read: () => (isAway ? away() : Promise.resolve([aQueue('m')])),
      now: () => atMs,
    });
    expect(await registry.metrics()).toContain('sluice_queue_paused{');
    isAway = true;
    atMs = 5_000;
    const text = await registry.metrics();
    expect(text).not.toContain('sluice_queue_jobs{');
    expect(text).not.toContain('sluice_queue_oldest_wait_seconds{');
    expect(text).not.toContain('sluice_queue_paused{');
    isAway = false;
    expect(await registry.metrics()).toContain('sluice_queue_oldest_wait_seconds{');
  });

  it('are read once for all who scrape within a second', async () => {
    let readings = 0;
    let atMs = 0;
    const registry = measured({
      read: () => {
        readings += 1;
        return Promise.resolve([]);
      },
      now: () => atMs,
    });
    await Promise.all([registry.metrics(), registry.metrics()]);
    expect(readings).toBe(1);
    atMs = 1_000;
    await registry.metrics();
    expect(readings).toBe(2);
  });
});
