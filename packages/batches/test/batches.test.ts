import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { FileFolder, Files } from '@sluice/files';
import { testRedis, type TestRedis } from '@sluice/testing';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Batches, BatchStore } from '../src/index.ts';

const owner = { tenant: 'team-a', key: 'a1b2c3d4e5f60718' };

let redis: TestRedis;
let folder: string;

beforeEach(async () => {
  redis = await testRedis();
  folder = await mkdtemp(join(tmpdir(), 'sluice-batches-'));
});
afterEach(async () => {
  await redis.close();
  await rm(folder, { recursive: true, force: true });
});

it('A batch is refused once its tenant has no room for the files of its results', async () => {
  const limits = { bytes: 1e6, tenantBytes: 1e6, tenantFiles: 2 };
  const files = new Files({
    store: new FileFolder(folder),
    limits,
    logger: pino({ level: 'silent' }),
    now: Date.now,
  });
  const store = new BatchStore({ connection: redis.client, keyPrefix: redis.prefix });
  const batches = new Batches({ store, files, now: Date.now });
  const aFile = async () => {
    const draft = await files.receive(owner.tenant, Readable.from(['{}\n']));
    return (await files.keep(owner.tenant, { name: 'in.jsonl', purpose: 'batch' }, draft)).id;
  };
  const create = (input_file_id: string) =>
    batches.create(owner, { input_file_id, endpoint: '/v1/responses', completion_window: '24h' });
  const first = await aFile();
  expect(await create(first)).toMatchObject({ status: 'validating' });
  const second = await aFile();
  await expect(create(second)).rejects.toMatchObject({ code: 'file_limit_reached' });
  await files.remove(owner.tenant, first);
  expect(await create(second)).toMatchObject({ status: 'validating' });
});
