import { completed, nothingProduced } from '@sluice/contract';
import { eventually, latch, startRedisProxy } from '@sluice/testing';
import { afterAll, describe, expect, inject, it, vi } from 'vitest';
import { defaultCell } from '../src/index.ts';
import { LargeValues } from '../src/large-values.ts';
import type { LargeValueConnection } from '../src/record/connection.ts';
import type { RoomForInput } from '../src/transitions/claim.ts';
import { oneServer, type Server, servers, stopCluster, storeForEachTest } from './store-under-test.ts';

afterAll(stopCluster);

const input = 'large '.repeat(20_000);
const instructions = 'rules '.repeat(20_000);

describe.each(servers)(
  'a request that is too large for a script, on %s',
  (_name, serve: () => Promise<Server>) => {
    const store = storeForEachTest(serve);

    const parts = [
      { what: 'its input', text: input, request: {} },
      { what: 'the rest of it', text: 'hi', request: { instructions } },
      { what: 'both', text: input, request: { instructions } },
      { what: 'both, in several pieces', text: 'ä😀'.repeat(500_000), request: { instructions } },
    ];

    it.each(parts)('is whole for its reader and its worker: $what', async ({ text, request }) => {
      const metadata = { order: 'ä€😀' };
      const id = await store.accepted({ text, request: { ...request, metadata } });
      const { client } = store.server;
      expect(await client.exists(store.keys.large(id))).toBe(1);
      expect(await client.pttl(store.keys.large(id))).toBe(-1);
      expect(await client.hstrlen(store.keys.record(id), 'request')).toBeLessThan(1_000);
      const content = [{ type: 'message', role: 'user', content: text }];
      expect(await store.caller.read(id)).toMatchObject({
        request: { ...request, metadata, model: 'simulator' },
      });
      expect(await store.readInput(id)).toEqual(content);
      // Claims of others wait on the control connection, so a large input comes over one of its own.
      const largeValues = store.server.connect();
      const read = vi.spyOn(largeValues, 'getrangeBuffer');
      expect(await store.take(id, 'a', { largeValues })).toMatchObject({
        kind: 'run',
        record: { request: { ...request, metadata }, input: content },
      });
      expect(new Set(read.mock.calls.map(([key]) => key))).toEqual(new Set([store.keys.large(id)]));
    });

    it('leaves nothing when it is erased, expires with its record, and goes when that vanishes', async () => {
      const { client } = store.server;
      const [erased, ended, vanished] = [
        await store.accepted({ request: { instructions } }),
        await store.running('a', { request: { instructions } }),
        await store.accepted({ request: { instructions } }),
      ];
      await store.caller.erase(erased, 'team-a');
      await store.write(ended, 'a', 3, [], completed(nothingProduced, 1));
      await client.del(store.keys.record(vanished));
      await store.attempts.survey(defaultCell, { offset: 0, count: 10 });
      expect(await client.exists(store.keys.large(erased))).toBe(0);
      expect(await client.exists(store.keys.large(vanished))).toBe(0);
      expect(await client.pttl(store.keys.large(ended))).toBeGreaterThan(0);
    });

    it('is not read for an end that needs nothing of it', async () => {
      const id = await store.accepted({ text: input, request: { instructions } });
      await store.caller.cancel(id, 'requested');
      expect(await store.take(id, 'a')).toMatchObject({
        kind: 'end',
        because: 'cancelled',
        record: { input: [], request: { model: 'simulator' } },
      });
    });

    it('is not read by a worker that has no room for it and all that comes before it', async () => {
      const first = await store.ended({ text: input });
      const id = await store.accepted({ text: 'Go on', previousId: first, request: { instructions } });
      const roomForInput = vi.fn<RoomForInput>(() => false);
      expect(await store.take(id, 'a', { roomForInput })).toMatchObject({
        kind: 'no_room',
        held: { id, token: 'a', tenant: expect.any(String), attempt: 1, model: 'simulator' },
      });
      const [[wanted] = []] = roomForInput.mock.calls;
      expect(wanted).toMatchObject({ token: 'a', tenant: expect.any(String) });
      expect(wanted?.bytes).toBeGreaterThan(input.length + instructions.length);
      roomForInput.mockReturnValue(true);
      expect(await store.take(id, 'b', { roomForInput })).toMatchObject({ kind: 'run', record: { id } });
    });

    it('ends instead of running on a part of it when somebody deleted that', async () => {
      const id = await store.accepted({ request: { instructions } });
      await store.server.client.del(store.keys.large(id));
      expect(await store.caller.read(id)).toMatchObject({
        request: { model: 'simulator', background: true },
      });
      expect(await store.take(id, 'a')).toMatchObject({ kind: 'end', because: 'input_lost' });
    });
  },
);

describe('the connection for large values', () => {
  const store = storeForEachTest();

  it('holds up nobody else, and leaves an accept its own time', async () => {
    const proxy = await startRedisProxy(inject('redisUrl'));
    const other = await oneServer(proxy.url);
    const caller = store.process('apart', other.client);
    try {
      await other.client.ping();
      proxy.silence();
      const deadline = vi.fn<() => number>(() => Date.now() + 3_600_000);
      const slow = store.accepting({ text: input, by: caller, deadline });
      await eventually(
        async () => (await store.server.client.keys(`${store.keys.prefix}large:*`)).length === 1,
      );
      // The value has arrived, and nobody knows yet.
      expect(await store.accepting({ by: caller })).toMatchObject({ result: { kind: 'accepted' } });
      expect(deadline).not.toHaveBeenCalled();
      proxy.speak();
      expect(await slow).toMatchObject({ result: { kind: 'accepted' } });
      expect(deadline).toHaveBeenCalledTimes(1);
    } finally {
      await other.close();
      await proxy.stop();
    }
  });

  it('refuses a value when too many bytes wait before it, and takes it after that', async () => {
    const written = Promise.withResolvers<'OK'>();
    const set = vi.fn<() => Promise<'OK'>>(() => written.promise);
    // Nothing else of it is used here.
    const values = new LargeValues({ set } as unknown as LargeValueConnection, 1_000);
    const first = values.write('first', [Buffer.alloc(600)], 1_000);
    await expect(values.write('second', [Buffer.alloc(600)], 1_000)).rejects.toMatchObject({
      code: 'server_is_overloaded',
    });
    written.resolve('OK');
    await first;
    await values.write('second', [Buffer.alloc(600)], 1_000);
    expect(set).toHaveBeenCalledTimes(2);
  });

  it('leaves what went ahead of an accept that never came to its expiry', async () => {
    const { responseId } = await store
      .accepting({
        text: input,
        deadline: () => {
          throw new Error('the process died');
        },
      })
      .catch(() => ({ responseId: undefined }));
    expect(responseId).toBeUndefined();
    const [key = ''] = await store.server.client.keys(`${store.keys.prefix}large:*`);
    expect(await store.server.client.pttl(key)).toBeGreaterThan(0);
  });

  it('reads a value in pieces, between which others are answered', async () => {
    const { client } = store.server;
    const value = Buffer.alloc(3_500_000, 'abcdefg');
    const key = store.keys.large('a');
    await client.set(key, value, 'PX', 60_000);
    const read = vi.spyOn(client, 'getrangeBuffer');
    const large = new LargeValues(client);
    expect((await large.read(key, 0, value.length))?.equals(value)).toBe(true);
    expect(read).toHaveBeenCalledTimes(14);
    expect(await large.read(key, 7, 14)).toEqual(Buffer.from('abcdefgabcdefg'));
    expect(await large.read(key, 0, value.length + 1)).toBeUndefined();
  });

  it('writes a value in pieces, and says when it went while it was written', async () => {
    const { client } = store.server;
    const key = store.keys.large('a');
    const value = Buffer.alloc(3_500_000, 'abcdefg');
    const large = new LargeValues(client);
    await large.write(key, [value.subarray(0, 1_500_000), value.subarray(1_500_000)], 60_000);
    expect((await client.getBuffer(key))?.equals(value)).toBe(true);
    // It has no room to grow: that would be lost for others.
    expect(await client.memory('USAGE', key)).toBeLessThan(1.3 * value.length);
    const multi = client.multi.bind(client);
    const deletesFirst = vi.spyOn(client, 'multi').mockImplementation(() => {
      const steps = multi();
      // The second piece finds that the first one went.
      return deletesFirst.mock.calls.length === 2 ? steps.del(key) : steps;
    });
    await expect(large.write(key, [value], 60_000)).rejects.toMatchObject({ code: 'server_is_overloaded' });
    deletesFirst.mockRestore();
    // A piece that came late leaves nothing for ever.
    expect(await client.pttl(key)).toBeGreaterThan(0);
  });

  it('says that a value is gone when it goes while it is read', async () => {
    const { client } = store.server;
    const key = store.keys.large('a');
    await client.set(key, Buffer.alloc(3_000_000), 'PX', 60_000);
    const begun = latch();
    const connection = {
      getrangeBuffer: async (name: string, from: number, to: number) => {
        const piece = await client.getrangeBuffer(name, from, to);
        await client.del(name);
        begun.open();
        return piece;
      },
    } as unknown as typeof client; // the one member that a read uses
    expect(await new LargeValues(connection).read(key, 0, 3_000_000)).toBeUndefined();
    await begun.wait();
  });
});
