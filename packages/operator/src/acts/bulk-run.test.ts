import type { Act } from '@sluice/contract/admin';
import { createLogger } from '@sluice/runtime';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BulkRun } from './bulk-run.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Runs a retry of pairs of responses, at most twenty in a second. */
function run(pairs: number, report: () => Promise<'go_on'>) {
  const begun: number[] = [];
  const total = 2 * pairs;
  const act: Act = {
    id: 'act',
    object: 'act',
    action: 'retry',
    target: '{}',
    state: 'running',
    total,
    done: 0,
    skipped: 0,
    failed: 0,
    error: null,
    started_at: 0,
    ended_at: null,
  };
  const bulk = new BulkRun({
    store: { report, leaseMs: 10_000 },
    work: {
      action: 'retry',
      target: '{}',
      total,
      perSecond: 20,
      async *ids() {
        for (let at = 0; at < pairs; at += 1) yield await Promise.resolve([`a${at}`, `b${at}`]);
      },
      each: () => Promise.resolve(begun.push(performance.now()) > 0),
    },
    act,
    now: () => performance.now(),
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  return { begun, over: bulk.run() };
}

it('begins no more in a second than it may', async () => {
  const { begun, over } = run(2, () => Promise.resolve('go_on'));
  await vi.advanceTimersByTimeAsync(99);
  expect(begun).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(begun).toHaveLength(4);
  expect(await over).toMatchObject({ state: 'done', done: 4 });
});

it('does not make up for an outage: no more are begun in a second behind it', async () => {
  const awayUntil = performance.now() + 10_000;
  const { begun, over } = run(50, async () => {
    if (performance.now() < awayUntil) throw new Error('Redis is away');
    return Promise.resolve('go_on');
  });
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await over).toMatchObject({ state: 'done', done: 100 });
  const last = begun.at(-1) ?? 0;
  expect(last).toBeGreaterThan(awayUntil);
  for (const from of begun) {
    expect(begun.filter((at) => at >= from && at < from + 1000).length).toBeLessThanOrEqual(20);
  }
});
