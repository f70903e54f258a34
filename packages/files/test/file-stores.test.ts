import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { createLogger } from '@sluice/runtime';
import { hasBucketServer, type LocalBucket, startLocalBucket } from '@sluice/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FileStore, openFileStore } from '../src/index.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const hour = 3_600_000;
const now = Date.parse('2026-03-10');
const idOf = (letter: string) => `file-${letter.repeat(32)}`;

let bucket: LocalBucket | undefined;
let machines: string[];
let prefix = 0;

beforeAll(async () => {
  if (hasBucketServer) bucket = await startLocalBucket();
});
afterAll(() => bucket?.stop());
beforeEach(() => {
  machines = [];
  prefix += 1;
});
afterEach(() => Promise.all(machines.map((machine) => rm(machine, { recursive: true, force: true }))));

/** The store as another machine has it. */
async function onMachine(place: 'folder' | 'bucket'): Promise<FileStore> {
  const machine = await mkdtemp(join(tmpdir(), 'sluice-files-'));
  machines.push(machine);
  const files =
    place === 'folder'
      ? { folder: machines[0] ?? machine }
      : { bucket: { ...(bucket as LocalBucket).settings, prefix: `${prefix}/` } }; // skipped without one
  return openFileStore({ files, dataDir: machine }, logger);
}

async function keep(
  store: FileStore,
  tenant: string,
  {
    id,
    content = 'Hello',
    name = 'a.txt',
    expiresAt,
  }: { id: string; content?: string | Buffer; name?: string; expiresAt?: number },
): Promise<void> {
  const draft = await store.write(Readable.from([Buffer.from(content)]), (source) => source);
  await store.keep(
    tenant,
    { id, name, purpose: 'user_data', bytes: draft.bytes, createdAt: now, expiresAt },
    draft,
  );
  await rm(draft.path);
}

describe.each(['folder', 'bucket'] as const)('files in a %s', (place) => {
  describe.skipIf(place === 'bucket' && !hasBucketServer)('with a server of S3, such as rclone', () => {
    let store: FileStore;
    let other: FileStore;

    beforeEach(async () => {
      store = await onMachine(place);
      other = await onMachine(place);
    });

    it('are found by every machine, and by their tenant alone', async () => {
      await keep(store, '../../etc', { id: idOf('a'), name: 'ä "b".txt' });
      await keep(store, '', { id: idOf('b'), name: '' });
      expect(await other.list('../../etc')).toEqual([
        {
          id: idOf('a'),
          name: 'ä "b".txt',
          purpose: 'user_data',
          bytes: 5,
          createdAt: now,
          expiresAt: undefined,
        },
      ]);
      expect(await other.find('', idOf('a'))).toBeUndefined();
      const found = await other.find('', idOf('b'));
      expect(found).toMatchObject({ name: '', bytes: 5 });
      expect(found && (await text(await other.read('', found)))).toBe('Hello');
      expect(await other.find('', '../x')).toBeUndefined();
      await other.remove('', idOf('b'));
      expect(await store.find('', idOf('b'))).toBeUndefined();
      expect(await store.list('')).toEqual([]);
    });

    it('have the longest name and content of any length', async () => {
      const content = Buffer.alloc(2 * 1024 * 1024 + 1, 'abc');
      await keep(store, 't', { id: idOf('a'), name: 'ü'.repeat(127), content });
      await keep(store, 't', { id: idOf('b'), content: '' });
      const long = await other.find('t', idOf('a'));
      expect(long).toMatchObject({ name: 'ü'.repeat(127), bytes: content.length });
      expect(long && (await buffer(await other.read('t', long))).equals(content)).toBe(true);
      const empty = await other.find('t', idOf('b'));
      expect(empty && (await text(await other.read('t', empty)))).toBe('');
    });

    it('are one when they are kept twice', async () => {
      await keep(store, 't', { id: idOf('a'), content: 'first' });
      await keep(other, 't', { id: idOf('a'), content: 'other' });
      const [file, ...more] = await store.list('t');
      expect(more).toEqual([]);
      expect(file && (await text(await store.read('t', file)))).toBe('first');
    });

    it('go when they have expired, and no others do', async () => {
      await keep(store, 't', { id: idOf('a'), expiresAt: now - 1 });
      await keep(store, 't', { id: idOf('b'), expiresAt: now + 1 });
      await keep(store, 't', { id: idOf('c') });
      await other.sweep(now);
      expect((await store.list('t')).map(({ id }) => id).toSorted()).toEqual([idOf('b'), idOf('c')]);
      await other.sweep(now + 10_000 * hour);
      expect((await store.list('t')).map(({ id }) => id)).toEqual([idOf('c')]);
    });

    it('leave nothing of content that breaks off', async () => {
      const content = new Readable({ read: () => undefined });
      const writing = store.write(content, (source) => source);
      content.push('half');
      content.destroy(new Error('gone'));
      await expect(writing).rejects.toThrow('gone');
      const entries = await readdir(machines[0] ?? '', { recursive: true, withFileTypes: true });
      expect(entries.filter((entry) => entry.isFile())).toEqual([]);
    });

    it('are none before anything is written', async () => {
      await store.sweep(now);
      await store.sweepWork(() => false);
      expect(await store.list('t')).toEqual([]);
    });

    it('have work that another machine goes on with where it was saved', async () => {
      const work = await store.openWork('batch_1');
      await writeFile(join(work.path, 'one'), 'abcdef');
      await work.save('one', 3);
      await work.save('one', 6);
      await work.save('one', 6);
      await writeFile(join(work.path, 'two'), 'x');
      await work.save('two', 1);
      await store.openWork('batch_2').then((unsaved) => unsaved.leave());
      const next = await other.openWork('batch_1');
      expect((await readdir(next.path)).toSorted()).toEqual(['one', 'two']);
      expect(await readFile(join(next.path, 'one'), 'utf8')).toBe('abcdef');
      await next.drop('one');
      const last = await store.openWork('batch_1');
      expect(await readdir(last.path)).toContain('two');
      expect(await readdir(await other.openWork('batch_1').then(({ path }) => path))).toEqual(['two']);
      await last.leave();
      await store.removeWork('batch_1');
      await store.removeWork('batch_none');
      expect(await readdir((await other.openWork('batch_1')).path)).toEqual([]);
    });

    it('leave no draft behind for days', async () => {
      const draft = await store.write(Readable.from(['x']), (source) => source);
      await store.sweep(now);
      await stat(draft.path);
      const old = (Date.now() - 49 * hour) / 1_000;
      await utimes(draft.path, old, old);
      await store.sweep(now);
      await expect(stat(draft.path)).rejects.toThrow('ENOENT');
    });
  });
});

describe.skipIf(!hasBucketServer)('work in a bucket', () => {
  it('has a piece of which a shorter write has arrived late', async () => {
    const store = await onMachine('bucket');
    const work = await store.openWork('batch_1');
    await writeFile(join(work.path, 'one'), 'abc');
    await work.save('one', 3);
    // As another process would have written it, which was given up and came all the same.
    const other = await store.openWork('batch_1');
    await writeFile(join(other.path, 'one'), 'abcdef');
    await other.save('one', 6);
    const next = await store.openWork('batch_1');
    expect(await readFile(join(next.path, 'one'), 'utf8')).toBe('abcdef');
  });

  it('leaves no file of this machine open, and no folder, when the bucket refuses', async () => {
    const { settings } = bucket as LocalBucket; // skipped without one
    const machine = await mkdtemp(join(tmpdir(), 'sluice-files-'));
    machines.push(machine);
    const wrong = { ...settings, secretAccessKey: 'another' };
    const store = openFileStore({ files: { bucket: wrong }, dataDir: machine }, logger);
    const draft = await store.write(Readable.from(['x']), (source) => source);
    const file = { id: idOf('a'), name: 'a', purpose: 'user_data' as const, bytes: 1, createdAt: now };
    await expect(store.keep('t', { ...file, expiresAt: undefined }, draft)).rejects.toThrow(
      'cannot be reached',
    );
    await rm(draft.path);
    await expect(store.openWork('batch_1')).rejects.toThrow('cannot be reached');
    expect(await readdir(dirname(draft.path))).toEqual([]);
  });
});
