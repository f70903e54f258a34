import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@sluice/runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BucketClient } from '../src/bucket/bucket-client.ts';
import { type BucketInMemory, startBucketInMemory } from './bucket-in-memory.ts';

let bucket: BucketInMemory;
let folder: string;
let client: BucketClient;
/** What goes wrong when the client is opened, each once. */
let failures: Error[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-bucket-'));
  bucket = await startBucketInMemory();
  failures = [];
  const options = {
    ...bucket.settings,
    get region(): string {
      const failure = failures.shift();
      if (failure) throw failure;
      return 'r';
    },
  };
  client = new BucketClient(options, createLogger({ name: 'test', level: 'silent' }));
});
afterEach(async () => {
  await bucket.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('a write to a bucket', () => {
  it.each([
    ['that is gone', 'none', 'ENOENT'],
    ['that can be opened and not be read', '.', 'EISDIR'],
  ])('of a file %s is rejected, and ends no process', async (_what, name, code) => {
    const writing = client.put('key', join(folder, name), { from: 0, to: 100 });
    await expect(writing).rejects.toMatchObject({ code: 'files_unavailable', cause: { code } });
  });
});

describe('a client of a bucket', () => {
  it('that could not be opened is opened by the next call', async () => {
    failures.push(new Error('too many open files'));
    await expect(client.remove('key')).rejects.toMatchObject({ code: 'files_unavailable' });
    await client.remove('key');
  });
});
