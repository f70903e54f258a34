import { cancelled, completed, nothingProduced } from '@sluice/contract';
import { forAllTests, startLocalRedis } from '@sluice/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { oneServer, StoreUnderTest } from './store-under-test.ts';

// Commands are counted by the server, so it has to be a server that nobody else uses.
const own = forAllTests(startLocalRedis);
const store = forAllTests(async () => new StoreUnderTest(await oneServer(own.url)));

beforeAll(() => walk({ streams: true }));

const end = completed(nothingProduced, 1_700_000_000);

/** The commands that a step sends, by name. */
const cost = async (step: () => Promise<unknown>) => (await store.cost(step)).commands;

/** A whole life, so that every script is known to the server. */
async function walk({ streams }: { streams: boolean }): Promise<void> {
  const id = await store.accepted({ streams, background: false, watchers: ['1'] });
  await store.take(id, 'a');
  if (streams) await store.write(id, 'a', 3, ['{"type":"response.output_text.delta"}']);
  await store.write(id, 'a', streams ? 4 : 3, [], end);
}

describe('what a synchronous response costs the store, in commands', () => {
  let id: string;

  it('is twelve for its accept, two of them for its place in the queue and two for the bytes of its tenant', async () => {
    const spent = await cost(async () => {
      id = await store.accepted({ streams: false, background: false, watchers: ['1'] });
    });
    expect(spent).toEqual({ evalsha: 1, time: 1, hmget: 2, hincrby: 2, hset: 2, zadd: 3, zmscore: 1 });
  });

  it('is seven for its claim, one of them for the order of the queue', async () => {
    const spent = await cost(() => store.take(id, 'a'));
    expect(spent).toEqual({ evalsha: 1, hmget: 1, time: 1, hincrby: 2, hset: 1, zadd: 1 });
  });

  it('is eight for its end, two of them for the bytes of its tenant', async () => {
    // One of the three reads is the test's own, which asks for the length of the end.
    const spent = await cost(() => store.write(id, 'a', 3, [], end));
    expect(spent).toEqual({ evalsha: 1, hmget: 3, hstrlen: 1, hset: 2, pexpire: 1, zrem: 1, publish: 1 });
  });
});

describe('what it costs to end a response that waits, in commands', () => {
  it('is one to look at it and eleven for its end', async () => {
    const queued = () => store.accepted({ streams: false, background: false, watchers: ['1'] });
    const endOne = (id: string) => store.caller.endIfQueued(id, cancelled(nothingProduced));
    await endOne(await queued());
    const id = await queued();
    const spent = await cost(() => endOne(id));
    const script = { evalsha: 1, time: 1, hmget: 2, hincrby: 2, hset: 2, pexpire: 1, zrem: 1, publish: 1 };
    expect(spent).toEqual({ ...script, hmget: script.hmget + 1 });
  });
});

describe('what a streamed response costs the store, in commands', () => {
  it('is five for an event that comes alone, and one more for each that comes with it', async () => {
    const id = await store.running('a', { background: false, watchers: ['1'] });
    const event = '{"type":"response.output_text.delta"}';
    const alone = await cost(() => store.write(id, 'a', 3, [event]));
    expect(alone).toEqual({ evalsha: 1, hmget: 1, xadd: 1, hset: 1, publish: 1 });
    const together = await cost(() => store.write(id, 'a', 4, [event, event, event]));
    expect(together).toEqual({ evalsha: 1, hmget: 1, xadd: 3, hset: 1, publish: 1 });
  });

  it('is three for an event of each of many streams that leave together, and two for all of them', async () => {
    const streams = 16;
    const ids: string[] = [];
    while (ids.length < streams) ids.push(await store.running('a', { background: false, watchers: ['1'] }));
    const events = ['{"type":"response.output_text.delta"}'];
    const appends = ids.map((responseId) => ({ responseId, token: 'a', sequenceNumber: 3, events }));
    const spent = await cost(async () => {
      expect(await store.append(...appends)).toEqual(ids.map(() => 'ok'));
    });
    expect(spent).toEqual({ evalsha: 1, hmget: streams, xadd: streams, hset: streams, publish: 1 });
  });
});

describe('what a look of the rescue costs the store', () => {
  it('is two commands for each response that a live worker runs in the background', async () => {
    await store.server.client.set(store.keys.workerProcess('w'), '1');
    for (let at = 0; at < 20; at += 1) await store.running(`token ${at}`);
    const look = () => store.attempts.survey('0', { offset: 0, count: 100 });
    const { length } = await look();
    const spent = await cost(async () => {
      const findings = await look();
      expect(findings.every(({ kind }) => kind === 'held')).toBe(true);
    });
    expect(length).toBeGreaterThanOrEqual(20);
    expect(spent).toEqual({ evalsha: 1, time: 1, zrange: 1, hmget: length, exists: length });
  });
});
