import { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { createLogger } from './logger.ts';
import { RedisClock } from './redis-clock.ts';

/** A Redis whose clock stands `aheadMs` before ours, and which takes `tripMs` for a question. */
function setUp() {
  const world = { monotonicMs: 1000, localMs: 5_000_000, aheadMs: 100_000, tripMs: 2, isAway: false };
  const client = Object.assign(new EventEmitter(), {
    status: 'ready',
    time() {
      if (world.isAway) return Promise.reject(new Error('away'));
      const redisMs = world.monotonicMs + world.tripMs / 2 + world.aheadMs;
      world.monotonicMs += world.tripMs;
      return Promise.resolve([String(Math.floor(redisMs / 1000)), String((redisMs % 1000) * 1000)]);
    },
  });
  const clock = new RedisClock({
    // The clock uses nothing of a client but what is here.
    client: client as unknown as Redis,
    logger: createLogger({ name: 'test', level: 'silent' }),
    monotonicNow: () => world.monotonicMs,
    localNow: () => world.localMs,
  });
  const redisNow = () => world.monotonicMs + world.aheadMs;
  return { world, client, clock, redisNow };
}

describe('redis clock', () => {
  it('keeps no process running, such as a command that ends while a cell joins it', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
    const { clock } = setUp();
    const before = timers();
    await clock.start();
    expect(timers()).toBe(before);
    clock.stop();
  });

  it('uses the local clock until Redis has answered', async () => {
    const { world, clock } = setUp();
    world.isAway = true;
    await clock.start();
    expect(clock.isSynchronized).toBe(false);
    expect(clock.now()).toBe(5_000_000);
    clock.stop();
  });

  it('runs on with the monotonic clock, whatever happens to the local one', async () => {
    const { world, clock, redisNow } = setUp();
    await clock.start();
    world.monotonicMs += 7000;
    world.localMs -= 3_600_000;
    expect(clock.isSynchronized).toBe(true);
    expect(clock.now()).toBe(redisNow());
    clock.stop();
  });

  it('prefers a quick sample to a slow one that does not contradict it', async () => {
    const { world, clock, redisNow } = setUp();
    await clock.sample();
    world.tripMs = 800;
    world.aheadMs += 300; // within what a trip of 800 ms can tell
    await clock.sample();
    expect(clock.now()).toBe(redisNow() - 300);
    world.aheadMs += 300; // 600 ms in all: out of its reach, so the clock was set
    await clock.sample();
    expect(clock.now()).toBe(redisNow());
  });

  it('believes the server of a new connection', async () => {
    const { world, client, clock, redisNow } = setUp();
    await clock.start();
    world.tripMs = 800;
    world.aheadMs += 300;
    const sampled = new Promise((resolve) => setImmediate(resolve));
    client.emit('ready');
    await sampled;
    expect(clock.now()).toBe(redisNow());
    clock.stop();
  });

  it('keeps its offset while Redis is away', async () => {
    const { world, clock, redisNow } = setUp();
    await clock.sample();
    world.isAway = true;
    await clock.sample();
    expect(clock.now()).toBe(redisNow());
  });

  it('listens to the client only between start and stop', async () => {
    const { client, clock } = setUp();
    clock.stop();
    await clock.start();
    await clock.start();
    expect(client.listenerCount('ready')).toBe(1);
    clock.stop();
    clock.stop();
    expect(client.listenerCount('ready')).toBe(0);
  });
});
