import { loadSettings } from '@sluice/config';
import { LiveCells } from '@sluice/response-store';
import { createLogger } from '@sluice/runtime';
import { eventually, testRedis, type TestRedis } from '@sluice/testing';
import { LiveModels } from '@sluice/wiring';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { limitsOfCells } from '../src/cells/limits-of-cells.ts';

/** Longer than a limit counts that no process tells, in milliseconds. */
const untilLapsedMs = 60_000;

let redis: TestRedis;
beforeEach(async () => {
  redis = await testRedis();
});
afterEach(() => redis.close());

/** One model, with a queue that runs one response at a time. */
const settingsWith = (queue: string) =>
  loadSettings({
    env: {},
    argv: [],
    cwd: '/',
    readFile: () =>
      `providers: [{ id: p, type: simulator }]\nmodels: [{ id: m, queue: ${queue}, concurrency: 1, routes: [{ provider: p }] }]`,
  });

/** The limits of a worker with these cells, and its models. No queue is ever empty. */
function setUp(...names: readonly [string, ...string[]]) {
  const set: unknown[] = [];
  const live = new LiveModels({ settings: settingsWith('old'), isEmpty: () => Promise.resolve(false) });
  const cellOf = (name: string) => ({
    name,
    keyPrefix: `${redis.prefix}{${name}}:`,
    clients: { commands: redis.client },
    store: { runningFlows: () => Promise.resolve({ passed: 0, flows: [] }) },
    queue: { limitConcurrency: (...limit: unknown[]) => Promise.resolve(set.push(limit)) },
  });
  const [first, ...others] = names;
  const limits = limitsOfCells({
    limits: () => live.queueLimits,
    cells: new LiveCells(cellOf(first), others.map(cellOf)) as never,
    workerId: 'one',
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  const key = (cell: string, name: string) => `${redis.prefix}{${cell}}:bull:old:${name}`;
  return {
    live,
    limits,
    set,
    wait: (cell: string) => redis.client.lpush(key(cell, 'wait'), '1', '2', '3'),
    empty: (cell: string) => redis.client.del(key(cell, 'wait')),
    mayRun: async (cell: string) => Number(await redis.client.hget(key(cell, 'meta'), 'concurrency')),
  };
}

describe('the limit of a queue that its model has left', () => {
  it('goes on to follow what waits over several cells', async () => {
    const { live, limits, wait, empty, mayRun } = setUp('0', 'E');
    await wait('0');
    await eventually(async () => {
      await limits.set();
      return (await mayRun('0')) === 1;
    });
    live.replace(settingsWith('new'));
    await limits.set();
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + untilLapsedMs);
    try {
      await wait('E');
      await empty('0');
      await eventually(async () => {
        await limits.set();
        return (await mayRun('E')) === 1;
      });
      expect(await mayRun('0')).toBe(0);
    } finally {
      clock.mockRestore();
    }
  });

  it('is set again in one cell', async () => {
    const { live, limits, set } = setUp('0');
    live.replace(settingsWith('new'));
    await limits.set();
    expect(set).toEqual([
      ['new', 1],
      ['old', 1],
    ]);
  });
});
