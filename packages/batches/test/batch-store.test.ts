import type { Files } from '@sluice/files';
import { eventually, testRedis, type TestRedis } from '@sluice/testing';
import type { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Batches, BatchRecords, BatchStore } from '../src/index.ts';
import { newBatchId, noTokens, type StoredBatch } from '../src/stored-batch.ts';

let redis: TestRedis;
let store: BatchStore;

beforeEach(async () => {
  redis = await testRedis();
  store = storeOn(redis.client);
});
afterEach(() => redis.close());

const storeOn = (connection: Redis) => new BatchStore({ connection, keyPrefix: redis.prefix });

const batch: StoredBatch = {
  key: 'a1b2c3d4e5f60718',
  endpoint: '/v1/responses',
  inputFileId: `file-${'a'.repeat(32)}`,
  status: 'validating',
  createdAt: 0,
  expiresAt: 1,
  at: {},
  counts: { total: 0, completed: 0, failed: 0 },
  tokens: noTokens,
  errors: [],
};

const problem = { code: 'invalid_json', line: 1, message: 'The line is no JSON.', param: null };
const name = { tenant: 'team a', id: newBatchId() };
const look = (looking: BatchStore) => looking.change(name, (stored) => stored);

/** The connection of a process that does something else before a command, or behind it. */
function around(
  command: 'sadd' | 'srem',
  { before, behind }: { before?: () => Promise<unknown>; behind?: () => Promise<unknown> },
): Redis {
  const send = async (key: string, text: string) => {
    await before?.();
    const answer = await redis.client[command](key, text);
    await behind?.();
    return answer;
  };
  return Object.create(redis.client, { [command]: { value: send } }) as Redis; // with its other commands
}

/** The connection of a process to which the replies of so many scripts get lost. Something else is done before it knows. */
function losing(count: number, behind: () => Promise<unknown> = () => Promise.resolve()): Redis {
  let left = count;
  const send = async (...script: Parameters<Redis['eval']>) => {
    const answer = await redis.client.eval(...script);
    if (left <= 0) return answer;
    left -= 1;
    await behind();
    throw new Error('Command timed out');
  };
  return Object.create(redis.client, { eval: { value: send } }) as Redis;
}

describe('the list of the batches of a tenant', () => {
  it('is read a few at a time, however many there are, and without what may be long', async () => {
    const long = { ...batch, metadata: { note: 'x'.repeat(500) }, errors: [] };
    const ids = Array.from({ length: 200 }, newBatchId);
    await redis.client.hset(
      `${redis.prefix}batches:${name.tenant}`,
      Object.fromEntries(ids.map((id) => [id, JSON.stringify(long)])),
    );
    const pages: number[] = [];
    const scan = async (key: string, cursor: string, token: 'COUNT', count: number) => {
      const [next, page] = await redis.client.hscan(key, cursor, token, count);
      pages.push(page.length / 2);
      return [next, page];
    };
    const counting = Object.create(redis.client, { hscan: { value: scan } }) as Redis;
    const listed = await storeOn(counting).list(name.tenant);
    expect(listed.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(Math.max(...pages)).toBeLessThan(100);
    expect(listed[0]?.value).not.toHaveProperty('metadata');
    expect(listed[0]?.value).not.toHaveProperty('errors');
  });

  it('has all of the batches of the page that is shown', async () => {
    const metadata = { note: 'mine' };
    await store.add(name, { ...batch, metadata, status: 'failed', errors: [problem] });
    const batches = new Batches({ store, files: {} as Files, now: Date.now });
    expect((await batches.list(name.tenant, { limit: 20 })).data).toMatchObject([
      { id: name.id, metadata, errors: { data: [problem] } },
    ]);
  });
});

describe('a batch that is added', () => {
  it('is open when another process looked at its name before it was stored', async () => {
    expect(await storeOn(around('sadd', { behind: () => look(store) })).add(name, batch)).toBe(true);
    expect(await store.open()).toEqual([name]);
  });

  it('is open when another process found none, and says so after it was stored', async () => {
    await look(storeOn(around('srem', { before: () => store.add(name, batch) })));
    expect(await store.open()).toEqual([name]);
  });

  it.each([
    ['as it was', () => Promise.resolve()],
    [
      'begun by another process meanwhile',
      () => store.change(name, (stored) => ({ ...stored, runner: 'r' })),
    ],
  ])('is added once when the reply to that was lost, %s', async (_, behind) => {
    expect(await storeOn(losing(1, behind)).add(name, batch)).toBe(true);
    expect(await store.list(name.tenant)).toMatchObject([{ id: name.id }]);
    expect(await store.open()).toEqual([name]);
  });

  it('is taken back when its caller was told that there is none', async () => {
    const records = new BatchRecords({
      store: storeOn(losing(Infinity)),
      endpoints: ['/v1/responses'],
      now: Date.now,
    });
    const { key, inputFileId } = batch;
    const wanted = { endpoint: '/v1/responses', inputFileId } as const;
    await expect(records.add({ tenant: name.tenant, key }, wanted)).rejects.toThrow('timed out');
    await eventually(async () => expect(await store.list(name.tenant)).toEqual([]));
  });

  it('is not open when there is none', async () => {
    await redis.client.sadd(`${redis.prefix}open-batches`, `${name.id} ${name.tenant}`);
    expect(await store.open()).toEqual([name]);
    expect(await look(store)).toBeUndefined();
    expect(await store.open()).toEqual([]);
  });
});
