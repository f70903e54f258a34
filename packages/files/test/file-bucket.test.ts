import fileSystem from 'node:fs';
import fileActs, { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { bornAt, createLogger } from '@sluice/runtime';
import { eventually, latch, spyInImports } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
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

describe('a file in a bucket', () => {
  it('is read no further ahead than the memory of its reader says', async () => {
    const path = join(machine, 'draft');
    await writeFile(path, Buffer.alloc(8 * 1024 * 1024));
    const file = { id: `file-${'a'.repeat(32)}`, name: 'a', purpose: 'user_data', createdAt: 1 } as const;
    const stored = { ...file, bytes: 8 * 1024 * 1024, expiresAt: undefined };
    await store.keep('t', stored, { path, bytes: stored.bytes });
    let asked = 0;
    bucket.mayAnswer = async () => void (asked += 1);
    const content = await store.read('t', stored);
    // A connection that takes nothing, and what stands before it, as those of a download do.
    const between = new PassThrough();
    const taking = latch();
    const connection = new Writable({ write: () => taking.open() });
    content.pipe(between).pipe(connection);
    await taking.wait();
    await eventually(() => asked === 3 && content.readableLength > 0);
    expect(store.readerBytes).toBe(asked * 1024 * 1024);
    content.destroy();
  });
});

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

  it('is fetched a few pieces at a time, in their order', async () => {
    const before = await store.openWork('batch');
    const lines = Array.from({ length: 30 }, (_, at) => `${at}\n`);
    // One of them is longer than what is asked for at a time.
    lines[3] = `${'x'.repeat(2_500_000)}\n`;
    let saved = '';
    for (const line of lines) {
      saved += line;
      await writeFile(join(before.path, 'one'), saved);
      await before.save('one', Buffer.byteLength(saved));
    }
    const underWay = { now: 0, most: 0 };
    const several = latch();
    bucket.mayAnswer = async (_method, key) => {
      if (key === '') return; // a list
      underWay.now += 1;
      underWay.most = Math.max(underWay.most, underWay.now);
      if (underWay.now >= 4) several.open();
      await several.wait();
      underWay.now -= 1;
    };
    const { path } = await store.openWork('batch');
    expect((await readFile(join(path, 'one'), 'utf8')) === saved).toBe(true);
    expect(underWay.most).toBeGreaterThanOrEqual(4);
    expect(underWay.most).toBeLessThanOrEqual(8);
  });

  it('is left while it is fetched, saved or removed, and leaves no folder', async () => {
    const work = await store.openWork('batch');
    for (const name of ['one', 'two']) {
      await writeFile(join(work.path, name), 'x');
      await work.save(name, 1);
    }
    const never = latch();
    const calls: [string, (signal: AbortSignal) => Promise<unknown>][] = [
      ['GET', (signal) => store.openWork('batch', signal)],
      ['PUT', (signal) => work.save('one', 2, signal)],
      ['DELETE', (signal) => work.drop('one', signal)],
      ['DELETE', (signal) => store.removeWork('batch', signal)],
    ];
    await writeFile(join(work.path, 'one'), 'xy');
    for (const [wanted, call] of calls) {
      const asked = latch();
      bucket.mayAnswer = async (method, key) => {
        if (method !== wanted || key === '') return;
        asked.open();
        await never.wait();
      };
      const leaving = new AbortController();
      const ended = expect(call(leaving.signal)).rejects.toThrow('leaving');
      await asked.wait();
      leaving.abort(new Error('leaving'));
      await ended;
    }
    never.open();
    await work.leave();
    const own = dirname(work.path);
    await eventually(async () => expect(await readdir(own)).toEqual([]));
  });
});

describe('drafts of a bucket', () => {
  const tellsBirths = process.platform === 'linux';
  const left = ['a draft', 'work on a batch'];
  const write = () => store.write(Readable.from(['x']), (source) => source);
  const names = async () => (await readdir(join(machine, 'drafts'))).toSorted();

  /** A folder as a process has it, with a draft and some work. */
  async function leave(host: string, pid: number, birth: string | undefined): Promise<string> {
    const name = [host, pid, birth ?? ''].map(encodeURIComponent).join('@');
    const folder = join(machine, 'drafts', name);
    await mkdir(join(folder, 'work on a batch'), { recursive: true });
    await writeFile(join(folder, 'a draft'), 'x');
    return name;
  }

  it.runIf(tellsBirths)('are gone with their process before the next one writes', async () => {
    await leave(hostname(), process.pid, 'an earlier boot');
    const running = await leave(hostname(), process.ppid, bornAt(process.ppid));
    const elsewhere = await leave('another', process.pid, 'an earlier boot');
    await writeFile(join(machine, 'drafts', 'of an earlier release'), 'x');
    const own = basename(dirname((await write()).path));
    expect(await names()).toEqual([running, elsewhere, own, 'of an earlier release'].toSorted());
    for (const name of [running, elsewhere])
      expect((await readdir(join(machine, 'drafts', name))).toSorted()).toEqual(left);
  });

  it.runIf(tellsBirths)('are swept with their process, or after days where nobody knows of it', async () => {
    const own = basename(dirname((await write()).path));
    await leave(hostname(), process.pid, 'an earlier boot');
    const running = await leave(hostname(), process.ppid, bornAt(process.ppid));
    const elsewhere = await leave('another', process.pid, 'an earlier boot');
    const old = await leave('another', process.pid, 'a boot long ago');
    const days = (Date.now() - 49 * hour) / 1_000;
    for (const name of [own, running, old]) await utimes(join(machine, 'drafts', name), days, days);
    await store.sweep(Date.now());
    expect(await names()).toEqual([own, running, elsewhere].toSorted());
    expect(await readdir(join(machine, 'drafts', own))).toHaveLength(1);
  });

  it('stay with a process of which nothing can be read for want of a descriptor', async () => {
    const own = basename(dirname((await write()).path));
    const running = await leave(hostname(), process.ppid, bornAt(process.ppid));
    const unread = await leave(hostname(), process.ppid, undefined);
    const read = vi.spyOn(fileSystem, 'readFileSync').mockImplementation(() => {
      throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    });
    spyInImports(read);
    await store.sweep(Date.now());
    expect(await names()).toEqual([own, running, unread].toSorted());
    expect(await readdir(join(machine, 'drafts', own))).toHaveLength(1);
  });

  it.runIf(tellsBirths)('that cannot be taken away hold up no others, and no file that expires', async () => {
    const path = join(machine, 'content');
    await writeFile(path, 'x');
    const file = { id: `file-${'a'.repeat(32)}`, name: 'a', purpose: 'user_data', createdAt: 1 } as const;
    await store.keep('t', { ...file, bytes: 1, expiresAt: 2 }, { path, bytes: 1 });
    const own = basename(dirname((await write()).path));
    await leave(hostname(), process.pid, 'a boot');
    await leave(hostname(), process.pid, 'b boot');
    const remove = vi.spyOn(fileActs, 'rm');
    remove.mockRejectedValueOnce(new Error('not permitted'));
    spyInImports(remove);
    await expect(store.sweep(Date.now())).rejects.toThrow('not permitted');
    expect(await names()).toHaveLength(2);
    expect(await names()).toContain(own);
    expect(bucket.objects.size).toBe(0);
  });
});
