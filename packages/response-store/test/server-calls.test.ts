import { forEachTest, testRedis } from '@sluice/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { redisKeys } from '../src/record/keys.ts';
import { callsLapseMs, tellCalls } from '../src/server-calls/tell-calls.ts';

const redis = forEachTest(testRedis);
let key: string;

beforeEach(() => {
  key = `${redis.prefix}:{0}:server-calls`;
});

const tell = (process: string, calls: Record<string, number>) =>
  tellCalls(
    { redis: redis.client, keys: redisKeys(`${redis.prefix}:`) },
    { process, calls: new Map(Object.entries(calls)) },
  );

describe('the calls under way that workers tell each other', () => {
  it('are those of all others, added up by server', async () => {
    expect(await tell('a', { s1: 2 })).toEqual(new Map());
    expect(await tell('b', { s1: 1, s2: 4 })).toEqual(new Map([['s1', 2]]));
    expect(await tell('c', {})).toEqual(
      new Map([
        ['s1', 3],
        ['s2', 4],
      ]),
    );
    // What a process tells replaces what it told before.
    await tell('b', { s2: 1 });
    expect(await tell('c', {})).toEqual(
      new Map([
        ['s1', 2],
        ['s2', 1],
      ]),
    );
  });

  it('do not count those of a worker that has told nothing for a while, and forget it', async () => {
    const [seconds] = await redis.client.time();
    const lapsed = Number(seconds) * 1000 - callsLapseMs - 1_000;
    await redis.client.hset(key, 'dead', `${lapsed} [["s1",9]]`);
    expect(await tell('a', { s1: 1 })).toEqual(new Map());
    expect(await redis.client.hkeys(key)).toEqual(['a']);
  });

  it('lapse all together when nobody tells any', async () => {
    await tell('a', { s1: 1 });
    const leftMs = await redis.client.pttl(key);
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(callsLapseMs);
  });

  it('count for nothing where another release tells them in another way', async () => {
    const [seconds] = await redis.client.time();
    const now = Number(seconds) * 1000;
    await redis.client.hset(key, 'later', `${now} {"s1":9}`, 'broken', `${now} [["s1","9"],[3]]`, 'odd', 'x');
    expect(await tell('a', {})).toEqual(new Map());
  });
});
