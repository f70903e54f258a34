import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RedisMemory, usedMemoryOf } from './redis-memory.ts';

describe('the used memory', () => {
  it.each([
    ['used_memory:50\r\nmaxmemory:200\r\ntotal_system_memory:1000\r\n', 50, 200],
    ['used_memory:50\r\nmaxmemory:0\r\ntotal_system_memory:1000\r\n', 50, 1000],
    ['used_memory_human:50\r\nused_memory:300\r\nmaxmemory:200\r\n', 300, 200],
    ['used_memory:50\r\n', 50, undefined],
    ['', 0, undefined],
  ])('of %j is %d of %s', (info, usedBytes, limitBytes) => {
    expect(usedMemoryOf(info)).toEqual({ usedBytes, limitBytes });
  });
});

describe('the look at the memory', () => {
  const redis = { status: 'ready' as const, text: 'used_memory:1\nmaxmemory:10\n', isAway: false, looks: 0 };
  const errors: unknown[] = [];
  let memory: RedisMemory;

  beforeEach(() => {
    vi.useFakeTimers();
    Object.assign(redis, { text: 'used_memory:1\nmaxmemory:10\n', isAway: false, looks: 0 });
    errors.length = 0;
    memory = new RedisMemory({
      commands: {
        status: redis.status,
        info: () => {
          redis.looks += 1;
          return redis.isAway ? Promise.reject(new Error('away')) : Promise.resolve(redis.text);
        },
      },
      onError: (error) => errors.push(error),
    });
  });
  afterEach(() => {
    memory.stop();
    vi.useRealTimers();
  });

  it('is repeated, and an outage leaves what was known', async () => {
    memory.start();
    await vi.advanceTimersByTimeAsync(1);
    expect(memory.usedPercent).toBe(10);
    redis.text = 'used_memory:9\nmaxmemory:10\n';
    await vi.advanceTimersByTimeAsync(1_000);
    expect(memory.usedPercent).toBe(90);
    redis.isAway = true;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(memory.usedPercent).toBe(90);
    expect(errors).toHaveLength(1);
  });

  it('ends with its stop', async () => {
    memory.start();
    await vi.advanceTimersByTimeAsync(1);
    memory.stop();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(redis.looks).toBe(1);
  });
});
