import { eventually, testRedis, type TestRedis } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LeaseThread, type LeaseThreadOptions } from '../src/lease/lease-thread.ts';

let redis: TestRedis;
let key: string;
let lease: LeaseThread;

beforeEach(async () => {
  redis = await testRedis();
  key = `${redis.prefix}:api:test`;
});
afterEach(async () => {
  await lease.stop();
  await redis.close();
});

async function start(options: Partial<LeaseThreadOptions> = {}): Promise<void> {
  lease = new LeaseThread({
    redisUrl: redis.url,
    keys: [key],
    ttlMs: 1_000,
    onError: () => undefined,
    ...options,
  });
  await lease.start();
}

/** Stops the event loop, as a request that takes long would. */
function block(forMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
}

const isHeld = async () => (await redis.client.exists(key)) === 1;

describe('the lease of an api process', () => {
  it('is held once it is started, and given up at the stop', async () => {
    await start({ ttlMs: 60_000 });
    expect(await isHeld()).toBe(true);
    await lease.stop();
    expect(await isHeld()).toBe(false);
    await lease.stop();
  });

  it('is kept while the event loop is held up for much longer than it lasts', async () => {
    await start();
    block(2_500);
    expect(await isHeld()).toBe(true);
  });

  it('lapses when the event loop is stuck, and is taken again when it goes on', async () => {
    await start({ silentMs: 700 });
    const observer = redis.connect();
    await observer.ping();
    // Asked before the block, and answered by the store in the middle of it.
    const waited = observer.blpop(`${key}:never`, 2.7);
    const heldMeanwhile = observer.exists(key);
    await new Promise((resolve) => setImmediate(resolve));
    block(3_000);
    await waited;
    expect(await heldMeanwhile).toBe(0);
    await eventually(isHeld);
  });

  it('is taken again after its connection was lost', async () => {
    await start({ ttlMs: 300_000 });
    await redis.client.del(key);
    const list = String(await redis.client.client('LIST'));
    // Servers of the run are shared: every lease of other tests is taken again, too.
    for (const [, id = ''] of list.matchAll(/^id=(\d+) .*name=sluice-lease /gm)) {
      await redis.client.client('KILL', 'ID', id);
    }
    await eventually(isHeld);
  });
});
