import { eventually, forEachTest, testRedis } from '@sluice/testing';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ProcessAnnouncer, readLostProcesses, readProcesses } from '../src/index.ts';

const redis = forEachTest(testRedis);
let keyPrefix: string;
let now = 1_700_000_000_000;
beforeEach(() => {
  keyPrefix = `${redis.prefix}:{0}:`;
});

function announcer(
  processId: string,
  report: () => object = () => ({ processId }),
  will: () => object = () => ({ processId }),
) {
  const errors: unknown[] = [];
  const made = new ProcessAnnouncer({
    connection: redis.client,
    keyPrefix,
    processId,
    report,
    will,
    now: () => now,
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => made.stop());
  return made;
}

const heard = async () => readProcesses({ connection: redis.client, keyPrefix }, now);
const ids = async () => (await heard()).map(({ id }) => id).toSorted();

const lost = async () => readLostProcesses({ connection: redis.client, keyPrefix }, now);

describe('the list of processes', () => {
  it('has those that run, with what they say', async () => {
    let isStopping = false;
    const one = announcer('one', () => ({ pid: 1, isStopping }));
    const other = announcer('other', () => ({ pid: 1 }));
    one.start();
    other.start();
    await one.announce();
    await other.announce();
    expect(await heard()).toEqual(
      expect.arrayContaining([
        { id: 'one', seenAt: now, report: { pid: 1, isStopping: false } },
        { id: 'other', seenAt: now, report: { pid: 1 } },
      ]),
    );
    isStopping = true;
    await one.announce();
    expect(await heard()).toContainEqual({ id: 'one', seenAt: now, report: { pid: 1, isStopping: true } });
  });

  it('leaves out one that is silent for fifteen seconds, by the clock of the store', async () => {
    const [dead, alive] = [announcer('dead'), announcer('alive')];
    dead.start();
    alive.start();
    await Promise.all([dead.announce(), alive.announce()]);
    now += 14_000;
    await alive.announce();
    expect(await ids()).toEqual(['alive', 'dead']);
    now += 2_000;
    expect(await ids()).toEqual(['alive']);
  });

  it('leaves no report of a dead process in Redis', async () => {
    for (let n = 0; n < 50; n += 1) {
      const each = announcer(`process${n}`);
      each.start();
      await each.announce();
      now += 10_000;
    }
    expect(await redis.client.zcard(`${keyPrefix}processes`)).toBeLessThan(10);
    expect(await redis.client.pttl(`${keyPrefix}process:process49`)).toBeLessThanOrEqual(15_000);
    expect(await redis.client.pttl(`${keyPrefix}processes`)).toBeLessThanOrEqual(60_000);
  });

  it('has none that has stopped, also when it was about to speak', async () => {
    const one = announcer('one');
    one.start();
    await one.announce();
    void one.announce();
    await one.stop();
    await one.stop();
    await one.announce();
    expect(await ids()).toEqual([]);
    expect(await redis.client.keys(`${keyPrefix}*`)).toEqual([]);
  });

  it('passes over what is no JSON', async () => {
    const one = announcer('one');
    one.start();
    await eventually(async () => (await ids()).length === 1);
    await redis.client.set(`${keyPrefix}process:one`, '{');
    expect(await heard()).toEqual([]);
  });
});

describe('the list of lost processes', () => {
  it('has one that fell silent, with the time and what it held then, until it is heard of again', async () => {
    let running = 1;
    const frozen = announcer(
      'frozen',
      () => ({ running, upstreams: [] }),
      () => ({ running }),
    );
    const other = announcer('other');
    frozen.start();
    other.start();
    await other.announce();
    running = 3;
    await frozen.announce();
    const seenAt = now;
    expect(await lost()).toEqual([]);
    now += 16_000;
    await other.announce();
    expect(await lost()).toEqual([{ id: 'frozen', seenAt, report: { running: 3 } }]);
    expect(await ids()).toEqual(['other']);
    now += 80_000_000;
    await other.announce();
    expect(await lost()).toEqual([{ id: 'frozen', seenAt, report: { running: 3 } }]);
    await frozen.announce();
    expect(await lost()).toEqual([]);
    expect(await ids()).toEqual(['frozen', 'other']);
  });

  it('has none that signed off, and after a day none at all', async () => {
    const [stopped, frozen, other] = [announcer('stopped'), announcer('frozen'), announcer('other')];
    for (const each of [stopped, frozen, other]) {
      each.start();
      await each.announce();
    }
    await stopped.stop();
    now += 16_000;
    await other.announce();
    expect((await lost()).map(({ id }) => id)).toEqual(['frozen']);
    now += 86_400_000;
    await other.announce();
    expect(await lost()).toEqual([]);
    expect(await redis.client.hkeys(`${keyPrefix}processes:wills`)).toEqual(['other']);
  });

  it('is bounded, however many died: those that were heard of first make room', async () => {
    const dead = redis.client.pipeline();
    for (let at = 0; at < 1_100; at += 1) {
      dead.zadd(`${keyPrefix}processes:heard`, now - 1_000_000 + at, `dead${at}`);
      dead.hset(`${keyPrefix}processes:wills`, `dead${at}`, '{}');
    }
    await dead.exec();
    const alive = announcer('alive');
    alive.start();
    await alive.announce();
    expect(await redis.client.zcard(`${keyPrefix}processes:heard`)).toBe(1_000);
    expect(await redis.client.hlen(`${keyPrefix}processes:wills`)).toBe(1_000);
    const told = await lost();
    expect(told).toHaveLength(50);
    expect(told[0]?.id).toBe('dead1099');
  });
});
