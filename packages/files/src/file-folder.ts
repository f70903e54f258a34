import { createHash } from 'node:crypto';
import {
  access,
  constants,
  copyFile,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { codeOf, orNone } from './absent.ts';
import { type Draft, Drafts, inTurn, sweepFolder, type Through } from './drafts.ts';
import type { FileStore } from './file-store.ts';
import { isExpired, isFileId, parseStoredFile, type StoredFile } from './stored-file.ts';
import { folderWork, type Work } from './work.ts';

/** How many descriptions are read at a time. */
const readAtOnce = 16;

/**
 * Files in a folder that every api has: of each tenant a folder, and in it of each file its content, under its id, and a description
 * beside it. A file is there once its description is, which comes last and goes first; whatever a process that dies leaves is swept away.
 */
export class FileFolder implements FileStore {
  /** Chunks of 64 KiB: one that is read ahead, and those that wait on the way. */
  readonly readerBytes = 256 * 1024;
  readonly #path: string;
  readonly #drafts: Drafts;

  constructor(path: string) {
    this.#path = path;
    // In the same file system, so that a draft becomes a file by a link.
    this.#drafts = new Drafts(join(path, 'drafts'));
  }

  write(content: Readable, through: Through): Promise<Draft> {
    return this.#drafts.write(content, through);
  }

  /** Done twice, it is one file, which has the content of the first time. */
  async keep(tenant: string, file: StoredFile, draft: Draft): Promise<void> {
    const folder = this.#folderOf(tenant);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const content = join(folder, file.id);
    await this.#linkOrCopy(draft.path, content);
    const description = await this.#drafts.place();
    await writeFile(description, JSON.stringify({ ...file, tenant }), { mode: 0o600, flush: true });
    await rename(description, `${content}.json`);
    await sync(folder);
  }

  async find(tenant: string, id: string): Promise<StoredFile | undefined> {
    if (!isFileId(id)) return undefined;
    const text = await readFile(join(this.#folderOf(tenant), `${id}.json`), 'utf8').catch(orNone);
    return text === undefined ? undefined : parseStoredFile(text);
  }

  async list(tenant: string): Promise<StoredFile[]> {
    const folder = this.#folderOf(tenant);
    const names = (await readdir(folder).catch(orNone)) ?? [];
    const found: StoredFile[] = [];
    const waiting = names.filter((name) => name.endsWith('.json'));
    const read = async () => {
      for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
        const text = await readFile(join(folder, name), 'utf8').catch(orNone);
        const file = text === undefined ? undefined : parseStoredFile(text);
        if (file) found.push(file);
      }
    };
    await Promise.all(Array.from({ length: readAtOnce }, read));
    return found;
  }

  /** It is open by then: a caller who is told of a failure later has been sent headers. */
  async read(tenant: string, { id }: StoredFile): Promise<Readable> {
    return (await open(this.#contentOf(tenant, id))).createReadStream();
  }

  /** A reader that has begun reads on. */
  async remove(tenant: string, id: string): Promise<void> {
    const content = this.#contentOf(tenant, id);
    await rm(`${content}.json`, { force: true });
    await rm(content, { force: true });
  }

  async sweep(now: number): Promise<void> {
    const names = (await readdir(this.#path).catch(orNone)) ?? [];
    const folders = names.filter((each) => /^[0-9a-f]{32}$/.test(each)).map((name) => join(this.#path, name));
    const removeAllExpired = () =>
      inTurn(folders, async (folder) => {
        const entries = (await readdir(folder).catch(orNone)) ?? [];
        await inTurn(entries, (entry) => removeExpired(folder, entry, now));
      });
    // Behind the files: the time takes a draft, for which a full disk may have no room before.
    const sweeps = [removeAllExpired, () => this.#drafts.sweep(), () => this.#sweepContents(folders)];
    await inTurn(sweeps, (sweep) => sweep());
  }

  openWork(name: string): Promise<Work> {
    return folderWork(join(this.#path, workFolder, name));
  }

  removeWork(name: string): Promise<void> {
    return rm(join(this.#path, workFolder, name), { recursive: true, force: true });
  }

  async sweepWork(isOpen: (name: string) => boolean): Promise<void> {
    await sweepFolder(join(this.#path, workFolder), await this.#drafts.now(), isOpen);
  }

  /** Takes contents away whose descriptions were never written. */
  async #sweepContents(folders: readonly string[]): Promise<void> {
    const here = await this.#drafts.now();
    await inTurn(folders, (folder) =>
      sweepFolder(folder, here, (entry) => {
        return entry.endsWith('.json') || access(join(folder, `${entry}.json`)).then(yes, no);
      }),
    );
  }

  async #linkOrCopy(from: string, to: string): Promise<void> {
    try {
      await link(from, to);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'EEXIST') return;
      if (code === 'ENOENT') throw error;
      // A file system without links.
      if (!(await access(to).then(yes, no))) await this.#copy(from, to);
    }
  }

  /** Copies a file elsewhere first: what stands at its place is taken for whole by everybody, also behind a process that died. */
  async #copy(from: string, to: string): Promise<void> {
    const copy = await this.#drafts.place();
    try {
      await copyFile(from, copy, constants.COPYFILE_EXCL);
      await sync(copy, 'r+');
      await rename(copy, to);
    } catch (error) {
      await rm(copy, { force: true });
      throw error;
    }
  }

  #contentOf(tenant: string, id: string): string {
    if (!isFileId(id)) throw new TypeError('Not the id of a file');
    return join(this.#folderOf(tenant), id);
  }

  #folderOf(tenant: string): string {
    return join(this.#path, nameOfTenant(tenant));
  }
}

/** The folder of the work on batches, which is named so since the first release that had them. */
const workFolder = 'batches';

/** The name of a tenant in a place of files: a tenant may have any characters, and file systems differ in what they make of them. */
export function nameOfTenant(tenant: string): string {
  return createHash('sha256').update(tenant).digest('hex').slice(0, 32);
}

async function removeExpired(folder: string, entry: string, now: number): Promise<void> {
  const [, id] = /^(file-[A-Za-z0-9]{32})\.json$/.exec(entry) ?? [];
  if (id === undefined) return;
  const file = parseStoredFile((await readFile(join(folder, entry), 'utf8').catch(orNone)) ?? '');
  if (!file || !isExpired(file, now)) return;
  await rm(join(folder, entry), { force: true });
  await rm(join(folder, id), { force: true });
}

const yes = () => true;
const no = () => false;

async function sync(path: string, flags = 'r'): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
