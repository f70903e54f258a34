import { cancelled, completed, nothingProduced } from '@sluice/contract';
import { said } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { noHold, storeForEachTest, unknownId } from './store-under-test.ts';

const store = storeForEachTest();

/** Accepts so many responses, oldest first. The store orders them by its clock, so they are a millisecond apart. */
async function accepted(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const id = await store.accepted();
    await store.server.client.zadd(store.keys.stored('team-a'), 1_000 + at, id);
    ids.push(id);
  }
  return ids;
}

/** Ends a response with this as its text. */
async function say(id: string, text: string): Promise<void> {
  await store.take(id, 'a');
  await store.write(id, 'a', 3, [], completed({ output: [said(text)], usage: null }, 1));
}

async function expire(id: string): Promise<void> {
  await store.server.client.del(store.keys.record(id));
}

const page = (after?: string, limit = 2) => store.caller.list('team-a', { after, limit }, noHold);

/** Every page from the newest on, as a client pages. */
async function allPages(): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const found = await page(ids.at(-1));
    ids.push(...(found?.records.map(({ id }) => id) ?? []));
    if (!found?.hasMore) return ids;
  }
}

/** What keeps a list that has lost all others; see accept.lua. */
const nobodysEntry = 1;

describe('the list of stored responses', () => {
  it('gives every response once, newest first', async () => {
    const ids = await accepted(7);
    expect(await allPages()).toEqual(ids.toReversed());
    expect(await page(ids[0])).toEqual({ records: [], hasMore: false, free: undefined });
  });

  it('gives fewer on a page when they are long, and misses none', async () => {
    const ids = await accepted(5);
    for (const id of ids.slice(1, 4)) await say(id, 'x'.repeat(3 * 1024 * 1024));
    const found = await page(undefined, 100);
    expect(found?.records.map(({ id }) => id)).toEqual([ids[4], ids[3]]);
    expect(found?.hasMore).toBe(true);
    expect(await allPages()).toEqual(ids.toReversed());
  });

  it('begins at no page behind an id that is not in it', async () => {
    const ids = await accepted(3);
    expect(await page(unknownId())).toBeUndefined();
    await store.caller.erase(ids[1] ?? '', 'team-a');
    expect(await page(ids[1])).toBeUndefined();
    expect((await store.caller.list('team-b', { after: ids[0], limit: 2 }, noHold))?.records).toBeUndefined();
  });

  it('fills its pages past responses that have expired', async () => {
    const ids = await accepted(9);
    for (const at of [8, 7, 6, 4, 3, 2]) await expire(ids[at] ?? '');
    expect(await allPages()).toEqual([ids[5], ids[1], ids[0]]);
    const left = await store.server.client.zcard(store.keys.stored('team-a'));
    expect(left).toBe(3 + nobodysEntry);
  });

  it('has no more when all that is left has expired', async () => {
    const ids = await accepted(5);
    for (const id of ids.slice(0, 3)) await expire(id);
    expect(await page()).toMatchObject({ records: [{ id: ids[4] }, { id: ids[3] }], hasMore: false });
    for (const id of ids) await expire(id);
    expect(await page()).toEqual({ records: [], hasMore: false, free: undefined });
  });

  it('lasts as long as what is in it, however rarely its tenant comes', async () => {
    const expiry = () => store.server.client.pttl(store.keys.stored('team-a'));
    await store.accepted();
    expect(await expiry()).toBeGreaterThan(600_000);
    // Almost all of its time has passed, and another process of the tenant's accepts a response.
    await store.server.client.pexpire(store.keys.stored('team-a'), 1_000);
    const id = await store.accepted({ watchers: ['2'] });
    expect(await expiry()).toBeGreaterThan(600_000);
    await store.write(id, '', 2, [], cancelled(nothingProduced));
    expect((await page())?.records).toHaveLength(2);
  });
});
