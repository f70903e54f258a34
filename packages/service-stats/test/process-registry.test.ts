import { eventually, testRedis, type TestRedis } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProcessAnnouncer, readProcesses } from '../src/index.ts';

let redis: TestRedis;
let keyPrefix: string;
let now = 1_700_000_000_000;
const announcers: ProcessAnnouncer[] = [];
beforeEach(async () => {
  redis = await testRedis();
  keyPrefix = `${redis.prefix}:{0}:`;
});
afterEach(async () => {
  for (const each of announcers.splice(0)) await each.stop();
  await redis.close();
});

function announcer(processId: string, report: () => object = () => ({ processId })) {
  const errors: unknown[] = [];
  const made = new ProcessAnnouncer({
    connection: redis.client,
    keyPrefix,
    processId,
    report,
    now: () => now,
    onError: (error) => errors.push(error),
  });
  announcers.push(made);
  return made;
}

const heard = async () => readProcesses({ connection: redis.client, keyPrefix }, now);
const ids = async () => (await heard()).map(({ id }) => id).toSorted();

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

  it('leaves nothing of a dead process in Redis', async () => {
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
