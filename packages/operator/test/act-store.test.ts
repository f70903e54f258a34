import { eventually, forEachTest, testRedis } from '@sluice/testing';
import type { Act } from '@sluice/contract/admin';
import { describe, expect, it } from 'vitest';
import { ActStore } from '../src/acts/act-store.ts';

const redis = forEachTest(testRedis);

const storeOf = (leaseMs?: number) =>
  new ActStore({
    connection: redis.client,
    keyPrefix: `${redis.prefix}:{0}:`,
    ...(leaseMs !== undefined && { leaseMs }),
  });

const act = (id: string, more: Partial<Act> = {}): Act => ({
  id,
  object: 'act',
  action: 'cancel',
  target: '{}',
  state: 'running',
  total: 10,
  done: 0,
  skipped: 0,
  failed: 0,
  error: null,
  started_at: 1,
  ended_at: null,
  ...more,
});

describe('an act', () => {
  it('begins once while no other one is under way', async () => {
    const store = storeOf();
    expect(await store.begin(act('one'))).toBe('one');
    expect(await store.begin(act('one'))).toBe('one');
    expect(await store.begin(act('two'))).toBe('one');
    expect((await store.list()).map(({ id }) => id)).toEqual(['one']);
  });

  it('makes room for the next one when it is over', async () => {
    const store = storeOf();
    await store.begin(act('one'));
    const done = act('one', { state: 'done', done: 10, ended_at: 2 });
    expect(await store.report(done)).toBe('go_on');
    // Its reply may have been lost.
    expect(await store.report(done)).toBe('go_on');
    expect(await store.begin(act('two'))).toBe('two');
    expect(await store.read('one')).toEqual(done);
    expect((await store.list()).map(({ id }) => id)).toEqual(['two', 'one']);
  });

  it('is told that somebody asked to stop it, over any process', async () => {
    await storeOf().begin(act('one'));
    expect(await storeOf().askToStop('one')).toBe(true);
    expect(await storeOf().report(act('one', { done: 3 }))).toBe('stop');
    expect(await storeOf().askToStop('none')).toBe(false);
    expect(await storeOf().read('none')).toBeUndefined();
  });

  it('is interrupted when its process says nothing any more', async () => {
    const store = storeOf(50);
    await store.begin(act('one', { done: 4 }));
    await eventually(async () =>
      expect(await store.read('one')).toMatchObject({ state: 'interrupted', done: 4 }),
    );
    expect(await store.list()).toMatchObject([{ id: 'one', state: 'interrupted' }]);
  });

  it('takes its lease again when nobody else has taken it', async () => {
    const store = storeOf(50);
    await store.begin(act('one'));
    await eventually(async () => expect(await store.read('one')).toMatchObject({ state: 'interrupted' }));
    expect(await storeOf().report(act('one', { done: 5 }))).toBe('go_on');
    expect(await store.read('one')).toMatchObject({ state: 'running', done: 5 });
  });

  it('is lost to one that began while it was silent', async () => {
    const store = storeOf(50);
    await store.begin(act('one'));
    await eventually(async () => expect(await storeOf().begin(act('two'))).toBe('two'));
    expect(await store.report(act('one', { done: 5 }))).toBe('lost');
    expect(await store.read('one')).toMatchObject({ state: 'interrupted', done: 0 });
    expect(await store.read('two')).toMatchObject({ state: 'running' });
  });

  it('expires, and only the latest are listed', async () => {
    const store = storeOf();
    for (let at = 0; at < 120; at += 1) {
      await store.begin(act(String(at)));
      await store.report(act(String(at), { state: 'done', ended_at: 1 }));
    }
    const listed = await store.list();
    expect([listed.length, listed[0]?.id]).toEqual([100, '119']);
    expect(await redis.client.pttl(`${redis.prefix}:{0}:act:119`)).toBeGreaterThan(0);
  });
});
