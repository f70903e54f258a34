import { afterEach, expect, it, vi } from 'vitest';
import type { BenchRedis } from './bench-redis.ts';
import type { Child } from './child-process.ts';
import type { LoadOrder } from './load/order.ts';
import { measure } from './measure.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

it('counts the time of an order from behind the control of the machine', async () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const redis = {
    speed: {
      run: async () => {
        now += 100;
      },
    },
    cpuTimeMs: async () => {
      now += 10;
      return 0;
    },
  } as unknown as BenchRedis; // all that is asked of it
  const load = {
    pid: process.pid,
    ask: async () => {
      now += 1_000;
      return { result: { failed: 0, completed: 5 } };
    },
  } as unknown as Child; // likewise
  const settled = vi.fn(async () => undefined);
  await measure({} as LoadOrder, { load, redis, processes: new Map(), settle: settled });
  expect(settled).toHaveBeenCalledExactlyOnceWith(5, 110);
});
