import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileFolder } from '../src/index.ts';

let path: string;
let folder: FileFolder;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'sluice-files-'));
  folder = new FileFolder(path);
});
afterEach(() => rm(path, { recursive: true, force: true }));

const day = 24 * 3_600_000;
const now = Date.parse('2026-03-10');
const idOf = (letter: string) => `file-${letter.repeat(32)}`;

async function aFile(tenant: string, id: string, expiresAt?: number): Promise<void> {
  const { path: draft, bytes } = await folder.writeDraft(
    Readable.from([Buffer.from('Hello')]),
    (source) => source,
  );
  await folder.keep(tenant, { id, name: 'a', purpose: 'user_data', bytes, createdAt: now, expiresAt }, draft);
  await rm(draft);
}

/** All that lies in the folder. */
const entries = async () =>
  (await readdir(path, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());

describe('a folder of files', () => {
  it('has files of tenants whose names are paths', async () => {
    await aFile('../../etc', idOf('a'));
    await aFile('', idOf('b'));
    expect(await folder.list('../../etc')).toMatchObject([{ id: idOf('a'), bytes: 5 }]);
    expect(await folder.find('', idOf('a'))).toBeUndefined();
    expect(await text(folder.read('', idOf('b')))).toBe('Hello');
    expect(await folder.find('', '../x')).toBeUndefined();
    expect(() => folder.contentOf('', '../x')).toThrow('Not the id');
  });

  it('keeps a draft twice as one file, also when the process died in between', async () => {
    const { path: draft, bytes } = await folder.writeDraft(
      Readable.from([Buffer.from('x')]),
      (source) => source,
    );
    const file = {
      id: idOf('a'),
      name: 'a',
      purpose: 'batch_output' as const,
      bytes,
      createdAt: now,
      expiresAt: undefined,
    };
    await folder.keep('t', file, draft);
    // Its description was not written yet.
    const description = (await entries()).find(({ name }) => name.endsWith('.json'));
    await rm(join(description?.parentPath ?? '', description?.name ?? ''));
    expect(await folder.list('t')).toEqual([]);
    await writeFile(draft, 'other');
    await folder.keep('t', file, draft);
    expect(await folder.list('t')).toEqual([file]);
    await rm(draft);
    await expect(folder.keep('t', { ...file, id: idOf('b') }, draft)).rejects.toThrow('ENOENT');
  });

  it('leaves nothing of content that breaks off', async () => {
    const content = new Readable({ read: () => undefined });
    const writing = folder.writeDraft(content, (source) => source);
    content.push('half');
    content.destroy(new Error('gone'));
    await expect(writing).rejects.toThrow('gone');
    expect(await entries()).toEqual([]);
  });

  it('loses what has expired and what was half made, and nothing else', async () => {
    await aFile('t', idOf('a'), now - 1);
    await aFile('t', idOf('b'), now + 1);
    await aFile('t', idOf('c'));
    const draft = await folder.draft();
    await writeFile(draft, 'old');
    const tenant = (await readdir(path)).find((name) => name !== 'drafts');
    const orphan = join(path, tenant ?? '', idOf('d'));
    await writeFile(orphan, 'old');
    for (const each of [draft, orphan])
      await utimes(each, now / 1_000 - 2 * 86_400, now / 1_000 - 2 * 86_400);
    await writeFile(await folder.draft(), 'new');
    await folder.sweep(now);
    expect((await folder.list('t')).map(({ id }) => id).toSorted()).toEqual([idOf('b'), idOf('c')]);
    expect(await entries()).toHaveLength(5);
    await folder.sweep(now + 1_000 * day);
    expect((await entries()).map(({ name }) => name).toSorted()).toEqual([idOf('c'), `${idOf('c')}.json`]);
  });

  it('has nothing to sweep before anything is written', async () => {
    await new FileFolder(join(path, 'none')).sweep(now);
    expect(await new FileFolder(join(path, 'none')).list('t')).toEqual([]);
  });
});
