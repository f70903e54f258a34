import { createLogger } from '@sluice/runtime';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BulkRun } from './bulk-run.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('begins no more in a second than it may', async () => {
  const begun: string[] = [];
  const run = new BulkRun({
    store: { report: () => Promise.resolve('go_on'), leaseMs: 10_000 },
    work: {
      action: 'retry',
      target: '{}',
      total: 4,
      perSecond: 20,
      async *ids() {
        yield await Promise.resolve(['r1', 'r2']);
        yield ['r3', 'r4'];
      },
      each: (id) => Promise.resolve(begun.push(id) > 0),
    },
    act: {
      id: 'act',
      object: 'act',
      action: 'retry',
      target: '{}',
      state: 'running',
      total: 4,
      done: 0,
      skipped: 0,
      failed: 0,
      error: null,
      started_at: 0,
      ended_at: null,
    },
    now: () => performance.now(),
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  const over = run.run();
  await vi.advanceTimersByTimeAsync(99);
  expect(begun).toEqual(['r1', 'r2']);
  await vi.advanceTimersByTimeAsync(1);
  expect(begun).toEqual(['r1', 'r2', 'r3', 'r4']);
  expect(await over).toMatchObject({ state: 'done', done: 4 });
});
