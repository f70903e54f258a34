import { cancelled, failed, failureBody, nothingProduced, type ResponseEnd } from '@sluice/contract';
import { describe, expect, it, vi } from 'vitest';
import { storeForEachTest } from './store-under-test.ts';

const store = storeForEachTest();

const unwanted: ResponseEnd = cancelled(nothingProduced);
const late: ResponseEnd = failed(nothingProduced, failureBody('timeout'));

const end = (id: string, with_: ResponseEnd) => store.caller.endIfQueued(id, with_);
const take = (id: string, token: string) => store.take(id, token);

async function typesOf(id: string): Promise<string[]> {
  return (await store.logOf(id)).map(([, json]) => /"type":"([^"]+)"/.exec(json)?.[1] ?? '');
}

describe('a response that no worker has taken', () => {
  it('ends, and says in which queue its job waits', async () => {
    const id = await store.accepted();
    expect(await end(id, unwanted)).toEqual({ kind: 'ended', queue: 'simulator' });
    expect(await store.caller.read(id)).toMatchObject({ status: 'cancelled' });
    expect(await typesOf(id)).toEqual(['response.created', 'response.queued', 'response.incomplete']);
  });

  it('tells a stream of its failure twice: in an error of its own and in the end', async () => {
    const id = await store.accepted();
    await end(id, late);
    expect(await typesOf(id)).toEqual(['response.created', 'response.queued', 'error', 'response.failed']);
    const [, error] = (await store.logOf(id)).slice(-2)[0] ?? [];
    expect(JSON.parse(error ?? '')).toMatchObject({ sequence_number: 2, error: { code: 'timeout' } });
  });

  it('says why it ended to those who wait, when somebody asked for it', async () => {
    const [asked, unasked] = [await store.accepted(), await store.accepted()];
    await store.caller.endIfQueued(asked, unwanted, 'requested');
    await end(unasked, unwanted);
    expect(await store.caller.wasAskedToEnd(asked)).toBe(true);
    expect(await store.caller.wasAskedToEnd(unasked)).toBe(false);
  });

  it('ends once, and is told to its process once, with its error, however many end it at a time', async () => {
    const [cancelledId, failedId] = [await store.accepted(), await store.accepted()];
    await Promise.all([end(cancelledId, unwanted), end(cancelledId, unwanted), end(cancelledId, unwanted)]);
    await end(failedId, late);
    expect(await end(failedId, unwanted)).toEqual({ kind: 'terminal', queue: expect.any(String) });
    expect(await store.caller.read(failedId)).toMatchObject({ status: 'failed' });
    await end(await store.running('a'), unwanted);
    await end('create-response_0none', unwanted);
    const told = { tenant: 'team-a', model: 'simulator' };
    expect(store.queuedEnds).toMatchObject([
      { ...told, responseId: cancelledId, end: { status: 'cancelled', error: null } },
      { ...told, responseId: failedId, end: { status: 'failed', error: { code: 'timeout' } } },
    ]);
  });

  it('stays as long as the settings say, or a minute when it is not stored', async () => {
    const [stored, unstored] = [
      await store.accepted(),
      await store.accepted({ store: false, background: false }),
    ];
    const { keys } = store;
    await end(stored, unwanted);
    await end(unstored, unwanted);
    const remaining = (key: string) => store.server.client.pttl(key);
    expect(await remaining(keys.record(stored))).toBeGreaterThan(60_000);
    expect(await remaining(keys.record(stored))).toBeLessThanOrEqual(600_000);
    expect(await remaining(keys.log(stored))).toBeLessThanOrEqual(300_000);
    expect(await remaining(keys.record(unstored))).toBeLessThanOrEqual(60_000);
    expect(await remaining(keys.log(unstored))).toBeLessThanOrEqual(60_000);
  });

  it('stays ten minutes when it is not stored, and its caller is to come back for it', async () => {
    const id = await store.accepted({ store: false, background: true });
    await end(id, unwanted);
    const remaining = await store.server.client.pttl(store.keys.record(id));
    expect(remaining).toBeGreaterThan(590_000);
    expect(remaining).toBeLessThanOrEqual(600_000);
  });
});

describe('a response that is not queued any more', () => {
  it('is left to the worker that takes it between the look and the end', async () => {
    const id = await store.accepted();
    const { client } = store.server;
    const lookThenTake = async (key: string, ...names: string[]) => {
      look.mockRestore();
      const found = await client.hmget(key, ...names);
      await take(id, 'a');
      return found;
    };
    // The one form in which the store calls it.
    const look = vi.spyOn(client, 'hmget').mockImplementation(lookThenTake as typeof client.hmget);
    expect(await store.caller.endIfQueued(id, unwanted, 'requested')).toEqual({ kind: 'begun' });
    expect(await store.field(id, 'cancel')).toBeNull();
    expect(store.queuedEnds).toEqual([]);
  });

  it('is left to the release that wrote it', async () => {
    const id = await store.accepted({ fields: { version: 'another' } });
    expect(await end(id, unwanted)).toEqual({ kind: 'unknown_version' });
    expect(await store.field(id, 'status')).toBe('queued');
  });

  it('is left to the worker that runs it', async () => {
    const id = await store.accepted();
    await take(id, 'a');
    expect(await store.caller.endIfQueued(id, unwanted, 'requested')).toEqual({ kind: 'begun' });
    expect(await store.caller.read(id)).toMatchObject({ status: 'in_progress' });
    expect(await store.field(id, 'cancel')).toBeNull();
  });

  it('may be gone', async () => {
    const id = await store.accepted();
    await store.server.client.del(store.keys.record(id));
    expect(await end(id, unwanted)).toEqual({ kind: 'missing' });
    expect(await store.server.client.exists(store.keys.record(id))).toBe(0);
  });
});
