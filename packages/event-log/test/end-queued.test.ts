import { cancelled, failed, failureBody, nothingProduced, type ResponseEnd } from '@sluice/contract';
import { testRedis, type TestRedis } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claim, endQueued, readRecord } from '../src/index.ts';
import { acceptedRecord, logOf, testKeys } from './accepted-record.ts';

let redis: TestRedis;

beforeEach(async () => {
  redis = await testRedis();
});
afterEach(() => redis.close());

const settings = { responseSeconds: 600, eventLogSeconds: 300 };
const unwanted: ResponseEnd = cancelled(nothingProduced);
const late: ResponseEnd = failed(nothingProduced, failureBody('timeout'));

function end(id: string, with_: ResponseEnd) {
  return endQueued(redis.client, testKeys(redis), id, with_, settings);
}

function take(id: string, token: string) {
  const workerChannel = testKeys(redis).workerProcess('w');
  return claim(redis.client, testKeys(redis), id, { token, workerChannel, totalMs: 60_000, maxAttempts: 2 });
}

async function typesOf(id: string): Promise<string[]> {
  return (await logOf(redis, id)).map(([, json]) => /"type":"([^"]+)"/.exec(json)?.[1] ?? '');
}

describe('a response that no worker has taken', () => {
  it('ends, and says in which queue its job waits', async () => {
    const id = await acceptedRecord(redis);
    expect(await end(id, unwanted)).toMatchObject({ id, queue: 'simulator' });
    expect(await readRecord(redis.client, testKeys(redis), id)).toMatchObject({ status: 'cancelled' });
    expect(await typesOf(id)).toEqual(['response.created', 'response.queued', 'response.incomplete']);
  });

  it('tells a stream of its failure twice: in an error of its own and in the end', async () => {
    const id = await acceptedRecord(redis);
    await end(id, late);
    expect(await typesOf(id)).toEqual(['response.created', 'response.queued', 'error', 'response.failed']);
    const [, error] = (await logOf(redis, id)).slice(-2)[0] ?? [];
    expect(JSON.parse(error ?? '')).toMatchObject({ sequence_number: 2, error: { code: 'timeout' } });
  });

  it('ends once', async () => {
    const id = await acceptedRecord(redis);
    await end(id, unwanted);
    await end(id, late);
    expect(await readRecord(redis.client, testKeys(redis), id)).toMatchObject({ status: 'cancelled' });
  });

  it('stays as long as the settings say, or a minute when it is not stored', async () => {
    const [stored, unstored] = [
      await acceptedRecord(redis),
      await acceptedRecord(redis, { fields: { request: '{"model":"simulator","store":false}' } }),
    ];
    const keys = testKeys(redis);
    await end(stored, unwanted);
    await end(unstored, unwanted);
    const remaining = (key: string) => redis.client.pttl(key);
    expect(await remaining(keys.record(stored))).toBeGreaterThan(590_000);
    expect(await remaining(keys.record(stored))).toBeLessThanOrEqual(600_000);
    expect(await remaining(keys.log(stored))).toBeLessThanOrEqual(300_000);
    expect(await remaining(keys.record(unstored))).toBeLessThanOrEqual(60_000);
    expect(await remaining(keys.log(unstored))).toBeLessThanOrEqual(60_000);
  });
});

describe('a response that is not queued any more', () => {
  it('is left to the worker that runs it', async () => {
    const id = await acceptedRecord(redis);
    await take(id, 'a');
    expect(await end(id, unwanted)).toMatchObject({ status: 'in_progress' });
    expect(await readRecord(redis.client, testKeys(redis), id)).toMatchObject({ status: 'in_progress' });
  });

  it('may be gone', async () => {
    const id = await acceptedRecord(redis);
    await redis.client.del(testKeys(redis).record(id));
    expect(await end(id, unwanted)).toBeUndefined();
    expect(await redis.client.exists(testKeys(redis).record(id))).toBe(0);
  });
});
