import fileSystem, { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { spyInImports } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FileFolder } from '../src/index.ts';
import type { StoredFile } from '../src/stored-file.ts';

let path: string;
let folder: FileFolder;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'sluice-files-'));
  folder = new FileFolder(path);
});
afterEach(() => rm(path, { recursive: true, force: true }));

const now = Date.parse('2026-03-10');
const idOf = (letter: string) => `file-${letter.repeat(32)}`;

/** All that lies in the folder. */
const entries = async () =>
  (await readdir(path, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());

const pass = <Content>(source: Content) => source;

/** Lets something be two days old and an hour, by the time of the file system. */
async function makeOld(entry: string): Promise<void> {
  const at = (Date.now() - 49 * 3_600_000) / 1_000;
  await utimes(entry, at, at);
}

const aFile = (id: string): StoredFile => ({
  id,
  name: 'a',
  purpose: 'batch_output',
  bytes: 1,
  createdAt: now,
  expiresAt: undefined,
});

describe('a folder of files', () => {
  it('keeps a draft twice as one file, also when the process died in between', async () => {
    const draft = await folder.write(Readable.from([Buffer.from('x')]), (source) => source);
    const file = aFile(idOf('a'));
    await folder.keep('t', file, draft);
    // Its description was not written yet.
    const description = (await entries()).find(({ name }) => name.endsWith('.json'));
    await rm(join(description?.parentPath ?? '', description?.name ?? ''));
    expect(await folder.list('t')).toEqual([]);
    await writeFile(draft.path, 'other');
    await folder.keep('t', file, draft);
    expect(await folder.list('t')).toEqual([file]);
    await rm(draft.path);
    await expect(folder.keep('t', aFile(idOf('b')), draft)).rejects.toThrow('ENOENT');
  });

  it('keeps a draft as a whole or not at all where there are no links', async () => {
    const none = Object.assign(new Error('no links'), { code: 'EPERM' });
    const spies = [
      vi.spyOn(fileSystem, 'link').mockRejectedValue(none),
      vi.spyOn(fileSystem, 'copyFile').mockImplementationOnce(async (_from, to) => {
        await writeFile(String(to), 'ha');
        throw new Error('killed');
      }),
    ];
    spyInImports(...spies);
    const draft = await folder.write(Readable.from(['half']), (source) => source);
    const file = aFile(idOf('a'));
    await expect(folder.keep('t', file, draft)).rejects.toThrow('killed');
    await folder.keep('t', file, draft);
    expect(await text(await folder.read('t', file))).toBe('half');
    await writeFile(draft.path, 'other');
    await folder.keep('t', file, draft);
    expect(await text(await folder.read('t', file))).toBe('half');
    expect(await entries()).toHaveLength(3);
  });

  it('loses content that a process left without its description', async () => {
    const draft = await folder.write(Readable.from(['x']), (source) => source);
    await folder.keep('t', aFile(idOf('a')), draft);
    await rm(draft.path);
    const tenant = (await readdir(path)).find((name) => name !== 'drafts');
    const orphan = join(path, tenant ?? '', idOf('d'));
    await writeFile(orphan, 'old');
    await folder.sweep(now);
    expect(await entries()).toHaveLength(3);
    await makeOld(orphan);
    await folder.sweep(now);
    expect((await entries()).map(({ name }) => name).toSorted()).toEqual([idOf('a'), `${idOf('a')}.json`]);
  });

  it('loses drafts and work that were left for days, by the time of its file system alone', async () => {
    const drafts = [
      await folder.write(Readable.from(['a']), pass),
      await folder.write(Readable.from(['b']), pass),
    ];
    const [left, open, fresh] = [
      await folder.openWork('left'),
      await folder.openWork('open'),
      await folder.openWork('fresh'),
    ];
    for (const old of [drafts[0]?.path ?? '', left.path, open.path]) await makeOld(old);
    // By the clock of the process everything is older, and nothing is.
    for (const clock of [now + 9e12, 0]) await folder.sweep(clock);
    await folder.sweepWork((name) => name === 'open');
    expect(await readdir(join(path, 'drafts'))).toEqual([basename(drafts[1]?.path ?? '')]);
    expect((await readdir(join(path, 'batches'))).toSorted()).toEqual(['fresh', 'open']);
    await fresh.leave();
  });

  it('loses what has expired and was left beside what cannot be taken away', async () => {
    const left = await folder.write(Readable.from(['left']), pass);
    await makeOld(left.path);
    for (const tenant of ['t', 'u']) {
      const draft = await folder.write(Readable.from(['x']), pass);
      await folder.keep(tenant, { ...aFile(idOf('a')), expiresAt: 1 }, draft);
      await rm(draft.path);
    }
    const remove = vi.spyOn(fileSystem, 'rm').mockRejectedValueOnce(new Error('not permitted'));
    spyInImports(remove);
    await expect(folder.sweep(now)).rejects.toThrow('not permitted');
    expect((await entries()).map(({ name }) => name).toSorted()).toEqual([idOf('a'), `${idOf('a')}.json`]);
  });
});
