import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@sluice/runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileBucket } from '../src/index.ts';
import { type BucketInMemory, startBucketInMemory } from './bucket-in-memory.ts';

const hour = 3_600_000;
const logger = createLogger({ name: 'test', level: 'silent' });

let machine: string;
let bucket: BucketInMemory;
let store: FileBucket;

beforeEach(async () => {
  machine = await mkdtemp(join(tmpdir(), 'sluice-files-'));
  bucket = await startBucketInMemory();
  store = new FileBucket({ ...bucket.settings, drafts: join(machine, 'drafts'), logger });
});
afterEach(async () => {
  await bucket.stop();
  await rm(machine, { recursive: true, force: true });
});

/** Saves a file of some work, and leaves it. */
async function leaveWork(name: string): Promise<void> {
  const work = await store.openWork(name);
  await writeFile(join(work.path, 'one'), 'x');
  await work.save('one', 1);
  await work.leave();
}

async function entriesOf(name: string): Promise<string[]> {
  const work = await store.openWork(name);
  const entries = await readdir(work.path);
  await work.leave();
  return entries;
}

describe('work in a bucket', () => {
  it('goes when it was left for days by the clock of the bucket, unless it is open', async () => {
    // The clock of this machine says that all of it is old, and then that none is.
    bucket.clock.now = Date.now() - 90 * 24 * hour;
    for (const name of ['open', 'left']) await leaveWork(name);
    bucket.clock.now += hour;
    await store.sweepWork(() => false);
    expect(await entriesOf('left')).toEqual(['one']);
    bucket.clock.now += 48 * hour;
    await store.sweepWork((name) => name === 'open');
    expect(await entriesOf('open')).toEqual(['one']);
    expect(await entriesOf('left')).toEqual([]);
  });
});
