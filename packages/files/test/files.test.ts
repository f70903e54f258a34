import { mkdtemp, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
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

describe('a file system that fails', () => {
  it('is told as files that cannot be reached, and not as a defect of the service', async () => {
    const failing = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));
    // As Node tells of an error that it has no name for.
    const errno = -constants.errno.EDQUOT;
    const overQuota = Object.assign(new Error(), { code: `Unknown system error ${errno}`, errno });
    const logger = createLogger({ name: 'test', level: 'silent' });
    const over = (failures: Partial<Record<keyof FileFolder, () => Promise<never>>>) =>
      new Files({
        store: Object.assign(new FileFolder(folder), failures),
        limits: { bytes: 5, tenantBytes: 5, tenantFiles: 1 },
        logger,
        now: () => now,
      });
    const told = { code: 'files_unavailable' };
    const content = () => Readable.from([Buffer.from('Hello')]);
    await expect(over({ write: failing('ENOSPC') }).receive(tenant, content())).rejects.toMatchObject(told);
    await expect(over({ find: failing('EIO') }).get(tenant, 'file-1')).rejects.toMatchObject(told);
    await expect(over({ list: () => Promise.reject(overQuota) }).checkRoom(tenant)).rejects.toMatchObject(
      told,
    );
    const draft = { path: join(folder, 'draft'), bytes: 5 };
    const kept = over({ keep: failing('EROFS') }).keep(tenant, { name: 'a', purpose: 'batch' }, draft);
    await expect(kept).rejects.toMatchObject(told);
    const { id } = await over({}).keep(
      tenant,
      { name: 'a', purpose: 'user_data' },
      await over({}).receive(tenant, content()),
    );
    const take = () => Promise.resolve();
    await expect(over({ read: failing('EMFILE') }).readWith(tenant, id, take)).rejects.toMatchObject(told);
    await expect(over({}).readWith(tenant, id, failing('EIO'))).rejects.toMatchObject(told);
    await expect(over({ read: failing('ENOENT') }).read(tenant, id)).rejects.toMatchObject({
      code: 'not_found',
    });
    // The connection of a caller is none of it.
    const cut = over({ write: failing('ECONNRESET') }).receive('other', content());
    await expect(cut).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});

describe('uploads under way', () => {
  const hello = () => Readable.from([Buffer.from('Hello')]);
  const ofTenant = { code: 'rate_limit_exceeded' };
  const ofAll = { code: 'server_is_overloaded' };

  it('have room for four of the largest files, of which a tenant has half, until they are dropped', async () => {
    const first = await files.receive('a', hello());
    await files.receive('a', hello());
    await expect(files.receive('a', hello())).rejects.toMatchObject(ofTenant);
    await files.receive('b', hello());
    await files.receive('b', hello());
    await expect(files.receive('c', hello())).rejects.toMatchObject(ofAll);
    await files.drop(first);
    await files.receive('c', hello());
  });

  it('give their room back when they break off or are too large', async () => {
    const broken = Readable.from(
      (function* () {
        yield Buffer.from('Hel');
        throw new Error('gone');
      })(),
    );
    await expect(files.receive('a', broken)).rejects.toThrow('gone');
    const long = Readable.from([Buffer.from('Hello!')]);
    await expect(files.receive('a', long)).rejects.toMatchObject({ code: 'request_too_large' });
    await files.receive('a', hello());
    await files.receive('a', hello());
  });

  it('are refused before they arrive when they say how long they are, and a form may be longer than its file', async () => {
    await files.receive('a', hello(), 900);
    const second = hello();
    await files.receive('a', Readable.from([Buffer.from('H')]), 5);
    await expect(files.receive('a', second, 1)).rejects.toMatchObject(ofTenant);
    expect(second.readableDidRead).toBe(false);
  });
});
