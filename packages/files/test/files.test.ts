import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createLogger } from '@sluice/runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileFolder, Files } from '../src/index.ts';

const tenant = 'team-a';

let folder: string;
let files: Files;
let now: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-files-'));
  now = Date.parse('2026-03-10');
  const limits = { bytes: 5, tenantBytes: 5, tenantFiles: 1 };
  const logger = createLogger({ name: 'test', level: 'silent' });
  files = new Files({ store: new FileFolder(folder), limits, logger, now: () => now });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function upload(): Promise<void> {
  const draft = await files.receive(tenant, Readable.from([Buffer.from('Hello')]));
  await files.keep(tenant, { name: 'a', purpose: 'user_data', expiresAfterSeconds: 3_600 }, draft);
}

describe('the files of a tenant', () => {
  it('take no room once they have expired, before they are swept', async () => {
    await upload();
    await expect(upload()).rejects.toMatchObject({ code: 'file_limit_reached' });
    await expect(files.checkRoom(tenant)).rejects.toMatchObject({ code: 'file_limit_reached' });
    now += 3_600_000;
    await files.checkRoom(tenant);
    await upload();
    expect((await files.list(tenant, { limit: 10, order: 'asc' })).data).toHaveLength(1);
  });
});
