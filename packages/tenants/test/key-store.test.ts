import { type EntriesSnapshot, EntriesWatch } from '@sluice/runtime';
import { eventually, forEachTest, latch, startRedisProxy, testRedis } from '@sluice/testing';
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { KeyStore } from '../src/stored/key-store.ts';

const redis = forEachTest(testRedis);
let store: KeyStore;
beforeEach(() => {
  store = storeOver(redis.client);
});

function storeOver(connection: Redis): KeyStore {
  return new KeyStore({ connection, keyPrefix: `${redis.prefix}:{0}:` });
}

/** Adds an entry to what is there. */
async function put(id: string, text: string): Promise<void> {
  const from = await store.read();
  expect(await store.change({ from, entries: new Map([[id, text]]) })).toBe(true);
}

const entriesOf = async () => Object.fromEntries((await store.read()).entries);

describe('a key store', () => {
  it('is empty without a version at first', async () => {
    expect(await store.read()).toEqual({ version: undefined, entries: new Map() });
  });

  it('has another version after each change, and never expires', async () => {
    const versions = new Set([await store.version()]);
    for (const text of ['one', 'other', 'one']) {
      await put('key_1', text);
      versions.add(await store.version());
    }
    expect(versions.size).toBe(4);
    expect(await entriesOf()).toEqual({ key_1: 'one' });
    expect(await redis.client.pttl(`${redis.prefix}:{0}:api-keys`)).toBe(-1);
  });

  it('refuses a change that was made from keys that have changed since', async () => {
    await put('key_1', 'first');
    const from = await store.read();
    await put('key_2', 'faster');
    expect(await store.change({ from, entries: new Map([['key_1', 'late']]) })).toBe(false);
    expect(await entriesOf()).toEqual({ key_1: 'first', key_2: 'faster' });
  });

  it('keeps the changes of all who make them at once and try again', async () => {
    const add = async (id: string) => {
      for (;;) {
        const from = await store.read();
        if (await store.change({ from, entries: new Map([[id, id]]) })) return;
      }
    };
    const ids = Array.from({ length: 20 }, (_, at) => `key_${at}`);
    await Promise.all(ids.map(add));
    expect(Object.keys(await entriesOf()).toSorted()).toEqual(ids.toSorted());
  });

  it('counts a change once that is sent again because its reply was lost', async () => {
    const change = { from: await store.read(), entries: new Map([['key_1', 'text']]), version: 'mine' };
    expect(await store.change(change)).toBe(true);
    expect(await store.change(change)).toBe(true);
    expect(await store.version()).toBe('mine');
  });

  it('reads thousands of keys as they were at one moment, while they change', async () => {
    const many = new Map(Array.from({ length: 3000 }, (_, at) => [`key_${at}`, 'a']));
    expect(await store.change({ from: await store.read(), entries: many })).toBe(true);
    const other = storeOver(redis.connect());
    const turning = latch();
    const turns = (async () => {
      for (const text of ['b', 'c', 'd']) {
        const from = await other.read();
        turning.open();
        await other.change({ from, entries: new Map([...many.keys()].map((id) => [id, text])) });
      }
    })();
    await turning.wait();
    while ((await store.read()).entries.get('key_0') !== 'd') {
      const { entries } = await store.read();
      expect(entries.size).toBe(3000);
      expect(new Set(entries.values()).size).toBe(1);
    }
    await turns;
  });

  it('tells the time of Redis', async () => {
    const before = await store.now();
    const [seconds] = await redis.client.time();
    expect(Math.abs(before - Number(seconds) * 1000)).toBeLessThan(2000);
  });
});

describe('a key watch', () => {
  function watchOver(over: KeyStore, apply?: (snapshot: EntriesSnapshot) => void) {
    const applied: Record<string, string>[] = [];
    const errors: unknown[] = [];
    const watch = new EntriesWatch({
      store: over,
      apply: (snapshot) => {
        apply?.(snapshot);
        applied.push(Object.fromEntries(snapshot.entries));
      },
      onError: (error) => errors.push(error),
      intervalMs: 5,
    });
    onTestFinished(() => watch.stop());
    return { watch, applied, errors };
  }

  it('applies what is there, also nothing, and then each change once', async () => {
    const { watch, applied } = watchOver(store);
    await watch.look();
    await watch.look();
    expect(applied).toEqual([{}]);
    watch.start();
    await put('key_1', 'a');
    await eventually(() => applied.length === 2);
    await put('key_1', 'b');
    await eventually(() => applied.length === 3);
    expect(applied.slice(1)).toEqual([{ key_1: 'a' }, { key_1: 'b' }]);
  });

  it('applies that everything is gone', async () => {
    await put('key_1', 'a');
    const { watch, applied } = watchOver(store);
    watch.start();
    await eventually(() => applied.length === 1);
    await redis.client.del(`${redis.prefix}:{0}:api-keys`);
    await eventually(() => applied.length === 2);
    expect(applied[1]).toEqual({});
  });

  it('tries again what could not be applied', async () => {
    let isRefused = true;
    const { watch, applied, errors } = watchOver(store, () => {
      if (isRefused) throw new Error('not now');
    });
    watch.start();
    await eventually(() => errors.length >= 2);
    expect(applied).toEqual([]);
    isRefused = false;
    await eventually(() => applied.length === 1);
  });

  it('changes nothing while Redis is silent, and follows when it is back', async () => {
    const proxy = await startRedisProxy(redis.url);
    onTestFinished(() => proxy.stop());
    const client = new Redis(proxy.url, { commandTimeout: 100, maxRetriesPerRequest: 0, protocol: 2 });
    onTestFinished(() => client.disconnect());
    client.on('error', () => undefined);
    const { watch, applied, errors } = watchOver(storeOver(client));
    watch.start();
    await eventually(() => applied.length === 1);
    proxy.silence();
    await put('key_1', 'a');
    await eventually(() => errors.length >= 2);
    expect(applied).toEqual([{}]);
    proxy.speak();
    await eventually(() => applied.length === 2);
    expect(applied[1]).toEqual({ key_1: 'a' });
  });

  it('stops twice, and without having started', async () => {
    const { watch } = watchOver(store);
    await watch.stop();
    watch.start();
    await watch.stop();
  });
});
