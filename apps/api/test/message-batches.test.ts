import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { BatchStore } from '@sluice/batches';
import { FileFolder, Files, newFileId } from '@sluice/files';
import { createLogger } from '@sluice/runtime';
import { testRedis, type TestRedis } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { DownloadReader } from '../src/plugins/downloads.ts';
import { MessageBatches } from '../src/batches/message-batches.ts';

const owner = { tenant: 'team-a', key: 'a1b2c3d4e5f60718' };
const now = () => 1_700_000_000_000;
const lines = () => new TextEncoder().encode('{"custom_id":"a"}\n{"custom_id":"b"}\n');

let redis: TestRedis;
let folder: string;
let files: Files;
let store: BatchStore;
let batches: MessageBatches;

beforeEach(async () => {
  redis = await testRedis();
  folder = await mkdtemp(join(tmpdir(), 'sluice-batches-'));
  const limits = { bytes: 1e6, tenantBytes: 1e6, tenantFiles: 2 };
  const logger = createLogger({ name: 'test', level: 'silent' });
  files = new Files({ store: new FileFolder(folder), limits, logger, now });
  store = new BatchStore({ connection: redis.client, keyPrefix: redis.prefix });
  batches = new MessageBatches({ store, files, now });
});
afterEach(async () => {
  await redis.close();
  await rm(folder, { recursive: true, force: true });
});

const reader = { keep: () => Promise.resolve() };
const namesOfFiles = async () => (await files.list(owner.tenant, { limit: 100, order: 'asc' })).data;

describe('a batch of messages', () => {
  it('has results that go when it is forgotten', async () => {
    const { request_counts: counts } = await batches.create(owner, lines());
    expect(counts.processing).toBe(2);
    const [stored] = await store.list(owner.tenant);
    expect(stored?.value.outputSeconds).toBe(30 * 86_400);
  });

  it('says that its results are gone, and begins no answer, once they have expired', async () => {
    const { id } = await batches.create(owner, lines());
    await store.change({ tenant: owner.tenant, id: id.slice('msg'.length) }, (batch) => ({
      ...batch,
      status: 'completed',
      counts: { total: 2, completed: 2, failed: 0 },
      at: { completed: now() },
      files: { output: newFileId() },
    }));
    await expect(batches.results(owner.tenant, id, reader)).rejects.toMatchObject({
      code: 'not_found',
      param: 'id',
    });
  });

  it('has results without those that were canceled when its input is gone', async () => {
    const { id } = await batches.create(owner, lines());
    const response = { status_code: 200, body: { id: 'msg_1' } };
    const result = { id: 'batch_req_1', custom_id: 'a', response, error: null };
    const draft = await files.receive(owner.tenant, Readable.from([`${JSON.stringify(result)}\n`]));
    const kept = await files.keep(owner.tenant, { name: 'out.jsonl', purpose: 'batch' }, draft);
    const name = { tenant: owner.tenant, id: id.slice('msg'.length) };
    const ended = await store.change(name, (batch) => ({
      ...batch,
      status: 'cancelled',
      counts: { total: 2, completed: 1, failed: 0 },
      at: { cancelled: now() },
      files: { output: kept.id },
    }));
    const succeeded = '{"custom_id":"a","result":{"type":"succeeded","message":{"id":"msg_1"}}}\n';
    const results = async () => text(await batches.results(owner.tenant, id, reader));
    expect(await results()).toBe(`${succeeded}{"custom_id":"b","result":{"type":"canceled"}}\n`);
    await files.remove(owner.tenant, ended?.inputFileId ?? '');
    expect(await results()).toBe(succeeded);
  });

  it('says of requests that had not run when it failed that they did not, and why', async () => {
    const { id } = await batches.create(owner, lines());
    await store.change({ tenant: owner.tenant, id: id.slice('msg'.length) }, (batch) => ({
      ...batch,
      status: 'failed',
      counts: { total: 2, completed: 0, failed: 0 },
      at: { failed: now() },
      errors: [
        { code: 'file_limit_reached', message: 'The results are too large.', line: null, param: null },
      ],
    }));
    expect((await batches.get(owner.tenant, id)).request_counts).toMatchObject({ errored: 2, canceled: 0 });
    const results = (await text(await batches.results(owner.tenant, id, reader))).trimEnd().split('\n');
    const error = { type: 'invalid_request_error', message: 'The results are too large.' };
    expect(results.map((line) => JSON.parse(line) as unknown)).toMatchObject(
      ['a', 'b'].map((custom_id) => ({
        custom_id,
        result: { type: 'errored', error: { type: 'error', error } },
      })),
    );
  });

  it('has results of which no line is in memory as a whole, so that none waits for room', async () => {
    const long = 'x'.repeat(150_000);
    const params = { id: long };
    const input = ['a', 'b', 'c'].map((custom_id) => `${JSON.stringify({ custom_id, body: params })}\n`);
    const { id } = await batches.create(owner, new TextEncoder().encode(input.join('')));
    const response = { status_code: 200, request_id: 'req_1', body: { id: long } };
    const written = ['a', 'b'].map(
      (custom_id) => `${JSON.stringify({ id: 'batch_req_1', custom_id, response, error: null })}\n`,
    );
    const draft = await files.receive(owner.tenant, Readable.from(written));
    const kept = await files.keep(owner.tenant, { name: 'out.jsonl', purpose: 'batch' }, draft);
    await store.change({ tenant: owner.tenant, id: id.slice('msg'.length) }, (batch) => ({
      ...batch,
      status: 'cancelled',
      counts: { total: 3, completed: 2, failed: 0 },
      at: { cancelled: now() },
      files: { output: kept.id },
    }));
    const keep = vi.fn<DownloadReader['keep']>(() => Promise.resolve());
    const pieces: Buffer[] = [];
    for await (const piece of await batches.results(owner.tenant, id, { keep })) pieces.push(piece as Buffer);
    const results = Buffer.concat(pieces).toString('utf8');
    const succeeded = { type: 'succeeded', message: { id: long } };
    expect(results.split('\n').map((line) => line && (JSON.parse(line) as unknown))).toEqual([
      { custom_id: 'a', result: succeeded },
      { custom_id: 'b', result: succeeded },
      { custom_id: 'c', result: { type: 'canceled' } },
      '',
    ]);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(70_000);
    expect(keep.mock.calls).toEqual([[files.readerBytes + 3 * 128]]);
  });

  it('leaves no file behind when it is refused, or cannot be stored', async () => {
    const add = vi.spyOn(store, 'add').mockRejectedValueOnce(new Error('away'));
    await expect(batches.create(owner, lines())).rejects.toThrow('away');
    expect(await namesOfFiles()).toEqual([]);
    add.mockResolvedValueOnce(false);
    await expect(batches.create(owner, lines())).rejects.toMatchObject({ code: 'batch_limit_reached' });
    expect(await namesOfFiles()).toEqual([]);
  });

  it('is refused where the tenant has as many files as it may', async () => {
    await batches.create(owner, lines());
    await batches.create(owner, lines());
    await expect(batches.create(owner, lines())).rejects.toMatchObject({ code: 'file_limit_reached' });
    expect(await store.list(owner.tenant)).toHaveLength(2);
  });
});
