import { cancelled, completed, nothingProduced } from '@sluice/contract';
import { eventually, hasServer, said, startLocalRedis } from '@sluice/testing';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type AcceptedOptions,
  oneServer,
  servers,
  stopCluster,
  storeForEachTest,
  StoreUnderTest,
  type WriteOptions,
} from './store-under-test.ts';

afterAll(stopCluster);

/** What a response takes beside its content, and how an Idempotency-Key counts; see held-bytes.lua. */
const perRecord = 2048;
const perKey = 512;
const perEvent = 24;

const end = completed({ output: [said('x'.repeat(5_000))], usage: null }, 1);

describe.each(servers)('the bytes of a tenant in the store, on %s', (_name, connect) => {
  const store = storeForEachTest(connect);

  async function held(name = 'team-a'): Promise<number> {
    const [found] = await store.caller.tenantUse([{ name, limits: {} }]);
    return found?.stored_bytes ?? 0;
  }

  const kibibytes = (bytes: number) => 1024 * Math.ceil(bytes / 1024);
  const resultBytes = async (id: string) =>
    Buffer.byteLength((await store.server.client.hget(store.keys.record(id), 'result')) ?? '');

  /** A response that is not streamed, of so many characters. */
  const arrive = (characters: number, options: AcceptedOptions = {}) =>
    store.accepted({ streams: false, text: 'x'.repeat(characters), ...options });

  async function finished(id: string, more?: WriteOptions): Promise<void> {
    await store.take(id, 'a');
    await store.write(id, 'a', 3, [], end, more);
  }

  it('are those of the request from its accept on, and those of the answer from its end on', async () => {
    const id = await arrive(100_000);
    const asked = await held();
    expect(asked).toBeGreaterThanOrEqual(100_000 + perRecord);
    expect(asked).toBeLessThanOrEqual(kibibytes(101_000) + perRecord);
    await store.take(id, 'a');
    expect(await held()).toBe(asked);
    await store.write(id, 'a', 3, [], end);
    expect(await held()).toBe(asked + (await resultBytes(id)));
    expect(await held('team-b')).toBe(0);
  });

  it('are given back when a response is deleted, before its end and after it', async () => {
    const [open, ended] = [await arrive(50_000), await arrive(50_000)];
    await finished(ended);
    await store.caller.erase(open, 'team-a');
    expect(await held()).toBeGreaterThan(50_000);
    await store.caller.erase(ended, 'team-a');
    expect(await held()).toBe(0);
    await store.caller.erase(ended, 'team-a');
    expect(await held()).toBe(0);
  });

  it('refuse what is over the limit of its tenant, and nobody else, until some have expired', async () => {
    const limits = { storedBytes: 200_000 };
    const id = await arrive(100_000, { limits });
    expect((await store.accepting({ text: 'x'.repeat(100_000), limits })).result.kind).toBe(
      'store_share_full',
    );
    expect((await store.accepting({ text: 'x'.repeat(100_000), limits, tenant: 'team-b' })).result.kind).toBe(
      'accepted',
    );
    // Redis owns the clock of what expires.
    const retention = { recordMs: 700, logMs: 700 };
    await finished(id, { retention });
    const { result: refused } = await store.accepting({ text: 'x'.repeat(100_000), limits });
    expect(refused.kind).toBe('store_share_full');
    if (refused.kind !== 'store_share_full') return;
    expect(refused.retryAfterMs).toBeGreaterThan(0);
    expect(refused.retryAfterMs).toBeLessThanOrEqual(1_700);
    await eventually(async () => {
      const { result } = await store.accepting({ text: 'x'.repeat(100_000), limits });
      return result.kind === 'accepted';
    });
    expect(await store.server.client.exists(store.keys.record(id))).toBe(0);
  });

  it('say of a request that is larger than the limit that it never fits', async () => {
    const { result } = await store.accepting({
      text: 'x'.repeat(9_000),
      limits: { storedBytes: 9_000 },
    });
    expect(result.kind).toBe('too_many_bytes');
    expect(await held()).toBe(0);
  });

  it('of what is not stored are soon there again, which a refusal says', async () => {
    const limits = { storedBytes: 20_000 };
    const id = await arrive(10_000, { store: false, limits });
    const { result } = await store.accepting({ text: 'x'.repeat(10_000), limits });
    expect(result).toMatchObject({ kind: 'store_share_full', retryAfterMs: 60_000 });
    await store.caller.erase(id, 'team-a');
    expect(await held()).toBe(0);
  });

  it('are exact for what comes at once over many connections', async () => {
    await arrive(10_000);
    const each = await held();
    const limits = { storedBytes: 10 * each };
    const callers = Array.from({ length: 4 }, (_, at) => store.process(`api-${at}`));
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        store.accepting({
          streams: false,
          text: 'x'.repeat(10_000),
          limits,
          by: callers[at % 4] ?? store.caller,
        }),
      ),
    );
    expect(results.filter(({ result }) => result.kind === 'accepted')).toHaveLength(9);
    expect(await held()).toBe(10 * each);
  });

  it('count once for a script that is sent again', async () => {
    const id = await store.accepted({ text: 'x'.repeat(10_000) });
    const asked = await held();
    await store.accepted({ text: 'x'.repeat(10_000), responseId: id });
    expect(await held()).toBe(asked);
    await store.take(id, 'a');
    const event = `{"type":"response.output_text.delta","delta":"${'x'.repeat(300_000)}"}`;
    const counts: number[] = [];
    for (let time = 0; time < 2; time += 1) {
      await store.write(id, 'a', 3, [event]);
      counts.push(await held());
    }
    for (let time = 0; time < 2; time += 1) {
      await store.write(id, 'a', 4, [], end);
      counts.push(await held());
    }
    const last = '{"type":"response.completed"}';
    const ended = asked + event.length + last.length + 4 * perEvent + (await resultBytes(id));
    expect(counts).toEqual([asked + event.length, asked + event.length, ended, ended]);
    await store.caller.erase(id, 'team-a');
    expect(await held()).toBe(0);
  });

  it('of a log go with it, before the response does', async () => {
    const id = await store.running('a');
    const event = `{"type":"response.output_text.delta","delta":"${'x'.repeat(30_000)}"}`;
    await store.write(id, 'a', 3, [event]);
    const retention = { recordMs: 600_000, logMs: 1_000 };
    await store.write(id, 'a', 4, [], end, { retention, now: Date.now() - 10_000 });
    expect(await held()).toBeLessThan(30_000);
    expect(await held()).toBeGreaterThan(5_000 + perRecord);
  });

  it('of an Idempotency-Key stay as long as it does', async () => {
    const idempotency = { key: 'order-1', keepMs: 600_000 };
    const id = await arrive(10, { store: false, idempotency });
    await finished(id, { now: Date.now() - 120_000, retention: { recordMs: 60_000, logMs: 60_000 } });
    expect(await held()).toBe(perKey);
    const other = await arrive(10, { idempotency: { key: 'order-2', keepMs: 600_000 } });
    await store.write(other, '', 2, [], cancelled(nothingProduced));
    await store.caller.erase(other, 'team-a');
    expect(await held()).toBe(perKey);
    // One that is taken again takes nothing more.
    const again = await arrive(10, { idempotency: { key: 'order-2', keepMs: 600_000 } });
    await store.caller.erase(again, 'team-a');
    expect(await held()).toBe(2 * perKey);
  });

  it('of an Idempotency-Key go with the response when that is erased with it', async () => {
    const idempotency = { key: 'order-1', keepMs: 600_000 };
    const id = await arrive(10, { idempotency });
    await finished(id);
    await store.caller.erase(id, 'team-a', { withKey: true });
    expect(await held()).toBe(0);
    // The key is free, and goes with no other response.
    const next = await arrive(10, { idempotency });
    expect(next).not.toBe(id);
    const used = await held();
    await store.caller.erase(id, 'team-a', { withKey: true });
    await store.caller.erase(id, 'team-a', { withKey: true });
    expect(await held()).toBe(used);
    expect(await arrive(10, { responseId: next, idempotency })).toBe(next);
  });

  it('are none of what an older release has taken in before its end, and nothing is taken off for it', async () => {
    const { client } = store.server;
    const id = await arrive(10_000);
    await client.hdel(store.keys.record(id), 'held');
    await client.del(store.keys.held('team-a'));
    const other = await arrive(10_000);
    const each = await held();
    await finished(id);
    expect(await held()).toBe(2 * each + (await resultBytes(id)));
    await store.caller.erase(id, 'team-a');
    expect(await held()).toBe(each);
    await client.hdel(store.keys.record(other), 'held');
    await store.caller.erase(other, 'team-a');
    expect(await held()).toBe(each);
  });

  it('are never less than none when their counts are lost, and not lost when a record is', async () => {
    const { client } = store.server;
    const ids = [await arrive(10_000), await arrive(10_000)];
    await client.del(store.keys.held('team-a'));
    for (const id of ids) await store.caller.erase(id, 'team-a');
    expect(await held()).toBe(0);
    const vanished = await arrive(10_000);
    await client.del(store.keys.record(vanished));
    expect(await held()).toBeGreaterThan(10_000);
    // It would have been gone by the second that its amount stands at.
    expect(await client.pttl(store.keys.held('team-a'))).toBeGreaterThan(0);
  });

  it('leave the count by themselves, and their key as well', async () => {
    const { client } = store.server;
    const key = store.keys.held('team-a');
    const second = Math.floor(Date.now() / 1000);
    const past = { [second - 20]: 5_000, [`u${second - 10}`]: 300 };
    await client.hset(key, {
      sum: 6_300,
      next: second - 20,
      last: second + 900,
      ...past,
      [second + 900]: 1_000,
    });
    expect(await held()).toBe(1_000);
    const id = await arrive(10);
    expect(await client.hmget(key, 'sum', ...Object.keys(past))).toEqual([
      `${1_000 + 1024 + perRecord}`,
      null,
      null,
    ]);
    await store.caller.erase(id, 'team-a');
    expect(await client.hget(key, 'sum')).toBe('1000');
    await client.del(key);
    await arrive(10);
    const last = Number(await client.hget(key, 'last'));
    expect(await client.expiretime(key)).toBe(last + 1);
    expect(last).toBeGreaterThan(second + 600);
  });

  it('have few amounts, however many end at whatever time', async () => {
    const day = 86_400_000;
    const retention = { recordMs: day, logMs: day };
    for (let at = 0; at < 150; at += 1) {
      await finished(await arrive(10), { retention, now: Date.now() + (at * day) / 150 });
    }
    expect(await store.server.client.hlen(store.keys.held('team-a'))).toBeLessThanOrEqual(3 + 33 + 2);
  });
});

// Memory is counted by the server, so it has to be one that nobody else uses.
describe.skipIf(!hasServer)('what is counted of a response (needs a server on the PATH)', () => {
  const kinds: [name: string, count: number, input: number, output: number, events: number][] = [
    ['short', 200, 40, 200, 0],
    ['of some kilobytes', 200, 20_000, 10_000, 0],
    ['streamed', 100, 40, 400, 100],
    ['streamed, with a long log', 30, 40, 20_000, 500],
    ['just larger than one piece', 20, 260_000, 100, 0],
    ['of half a megabyte', 20, 520_000, 100, 0],
    ['of three megabytes', 4, 3_000_000, 100, 0],
  ];

  it.each(kinds)(
    'is about what the store has of one that is %s',
    async (_kind, count, input, output, events) => {
      // The embedded store has words of 32 bits, and takes less.
      const own = await startLocalRedis({ kind: 'server' });
      const store = new StoreUnderTest(await oneServer(own.url));
      // The memory of the whole server has buffers of connections in it, which come and go.
      const used = async () => {
        const { client } = store.server;
        const sizes = await Promise.all(
          (await client.keys('*')).map((key) => client.memory('USAGE', key, 'SAMPLES', 0)),
        );
        return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
      };
      const held = async () =>
        (await store.caller.tenantUse([{ name: 'team-a', limits: {} }]))[0]?.stored_bytes ?? 0;
      const event = `{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"delta":" word"}`;
      const spoken = completed({ output: [said('y'.repeat(output))], usage: null }, 1);
      const live = async () => {
        const id = await store.accepted({ streams: events > 0, text: 'x'.repeat(input) });
        await store.take(id, 'a');
        for (let at = 0; at < events; at += 10) {
          await store.write(
            id,
            'a',
            3 + at,
            Array.from({ length: 10 }, () => event),
          );
        }
        await store.write(id, 'a', 3 + events, [], spoken);
      };
      try {
        for (let at = 0; at < 5; at += 1) await live();
        const before = { used: await used(), held: await held() };
        for (let at = 0; at < count; at += 1) await live();
        const counted = ((await held()) - before.held) / ((await used()) - before.used);
        expect(counted).toBeGreaterThan(0.8);
        expect(counted).toBeLessThan(2);
      } finally {
        await store.close();
        await own.stop();
      }
    },
  );
});
