import { afterAll, describe, expect, it } from 'vitest';
import { completed, nothingProduced } from '@sluice/contract';
import { defaultCell } from '../src/index.ts';
import { noHold, type Server, servers, stopCluster, storeForEachTest } from './store-under-test.ts';

afterAll(stopCluster);

/** More than a record holds itself, in characters. */
const large = 'large '.repeat(20_000);

// An operator deletes a key, a restore brings back a part, an eviction was left on: what is left has to be right again.
describe.each(servers)('keys that somebody deleted, on %s', (_name, serve: () => Promise<Server>) => {
  const store = storeForEachTest(serve);

  it('counters: everybody is let in, and they are right again once what they do not know has left', async () => {
    const unknown = [await store.accepted({ text: large }), await store.accepted({ text: large })];
    await store.server.client.del(store.keys.load);
    const known = await store.accepted();
    for (const id of unknown) expect((await store.take(id, 'a')).kind).toBe('run');
    // `accepted` throws on a refusal.
    const later = await store.accepted();
    for (const id of [known, later]) expect((await store.take(id, 'a')).kind).toBe('run');
    expect(await store.caller.waiting(defaultCell)).toMatchObject({ all: { responses: 0 } });
    await store.accepted();
    expect(await store.caller.waiting(defaultCell)).toMatchObject({ all: { responses: 1 } });
  });

  it('counters: a size that was borrowed from a number refuses nobody', async () => {
    const unknown = await store.accepted({ text: large });
    await store.server.client.del(store.keys.load);
    await store.accepted();
    await store.accepted();
    expect((await store.take(unknown, 'a')).kind).toBe('run');
    await store.accepted();
  });

  it('a record: what else there was of its response goes with it', async () => {
    const id = await store.accepted({ text: large });
    const { client } = store.server;
    await client.del(store.keys.record(id));
    const found = await store.attempts.survey(defaultCell, { offset: 0, count: 10 });
    expect(found).toMatchObject([{ responseId: id, kind: 'vanished' }]);
    expect(await client.exists(store.keys.log(id))).toBe(0);
    expect(await client.exists(store.keys.large(id))).toBe(0);
  });

  it('an input: the response ends instead of running on nothing', async () => {
    const id = await store.accepted({ text: large });
    await store.server.client.del(store.keys.large(id));
    expect(await store.take(id, 'a')).toMatchObject({ kind: 'end', because: 'input_lost' });
  });

  it('an input: nothing continues from its response', async () => {
    const id = await store.running('a', { text: large });
    await store.write(id, 'a', 3, [], completed(nothingProduced, 1));
    const later = await store.continued(id, 'b');
    expect(await store.attempts.readContext(later)).toMatchObject({ kind: 'whole' });
    await store.server.client.del(store.keys.large(id));
    expect(await store.readInput(id)).toBeUndefined();
    expect(await store.attempts.readContext(later)).toEqual({ kind: 'broken', missingId: id });
  });

  it('a list loses its last response, but not its expiry', async () => {
    const id = await store.accepted();
    await store.caller.erase(id, 'team-a');
    expect(await store.caller.list('team-a', { after: undefined, limit: 2 }, noHold)).toEqual({
      records: [],
      hasMore: false,
      free: undefined,
    });
    expect(await store.caller.list('team-a', { after: '', limit: 2 }, noHold)).toBeUndefined();
    await store.accepted();
    expect(await store.server.client.pttl(store.keys.stored('team-a'))).toBeGreaterThan(0);
  });
});
