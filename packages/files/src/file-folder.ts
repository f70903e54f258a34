import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream, type ReadStream } from 'node:fs';
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
  stat,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isExpired, isFileId, parseStoredFile, type StoredFile } from './stored-file.ts';

/** How long something half made may lie before it is swept away, in milliseconds: nobody writes for that long. */
const halfMadeMs = 24 * 3_600_000;

/** Content that is on the disk and not a file yet. */
export interface Draft {
  path: string;
  bytes: number;
}

/** Passes content on, or ends it by an error. */
export type Through = (source: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

/** How many descriptions are read at a time. */
const readAtOnce = 16;

/**
 * Files in a folder that every api has: of each tenant a folder, and in it of each file its content, under its id, and a description
 * beside it. A file is there once its description is, which comes last and goes first; whatever a process that dies leaves is swept away.
 */
export class FileFolder {
  /** Where everything is. */
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** A place for something that is not a file yet, in the same file system. */
  async draft(): Promise<string> {
    const drafts = join(this.path, 'drafts');
    await mkdir(drafts, { recursive: true, mode: 0o700 });
    return join(drafts, randomUUID());
  }

  /** Writes content to a draft, until it is on the disk. Rejects, and leaves no draft, when the content does. */
  async writeDraft(content: Readable, through: Through): Promise<Draft> {
    const path = await this.draft();
    try {
      const written = createWriteStream(path, { mode: 0o600, flush: true });
      await pipeline(content, through, written);
      return { path, bytes: written.bytesWritten };
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  /** Makes a file of a draft, which stays where it is. Done twice it is one file, which has the content of the first time. */
  async keep(tenant: string, file: StoredFile, draft: string): Promise<void> {
    const folder = this.#folderOf(tenant);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const content = join(folder, file.id);
    await linkOrCopy(draft, content);
    const description = await this.draft();
    await writeFile(description, JSON.stringify({ ...file, tenant }), { mode: 0o600, flush: true });
    await rename(description, `${content}.json`);
    await syncFolder(folder);
  }

  async find(tenant: string, id: string): Promise<StoredFile | undefined> {
    if (!isFileId(id)) return undefined;
    const text = await readFile(join(this.#folderOf(tenant), `${id}.json`), 'utf8').catch(orNone);
    return text === undefined ? undefined : parseStoredFile(text);
  }

  /** All of a tenant, in no order. */
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

  /** The content of a file, which the caller knows to be there. */
  read(tenant: string, id: string): ReadStream {
    return createReadStream(this.contentOf(tenant, id));
  }

  /** Where the content of a file is. */
  contentOf(tenant: string, id: string): string {
    if (!isFileId(id)) throw new TypeError('Not the id of a file');
    return join(this.#folderOf(tenant), id);
  }

  /** A reader that has begun reads on. */
  async remove(tenant: string, id: string): Promise<void> {
    const content = this.contentOf(tenant, id);
    await rm(`${content}.json`, { force: true });
    await rm(content, { force: true });
  }

  /** Takes away files that have expired, and what was half made when a process died. */
  async sweep(now: number): Promise<void> {
    const folders = (await readdir(this.path).catch(orNone)) ?? [];
    for (const name of folders.filter((each) => each === 'drafts' || /^[0-9a-f]{32}$/.test(each))) {
      const folder = join(this.path, name);
      for (const entry of (await readdir(folder).catch(orNone)) ?? []) await sweepEntry(folder, entry, now);
    }
  }

  #folderOf(tenant: string): string {
    // A name may have any characters, and file systems differ in what they make of them.
    return join(this.path, createHash('sha256').update(tenant).digest('hex').slice(0, 32));
  }
}

async function sweepEntry(folder: string, entry: string, now: number): Promise<void> {
  const path = join(folder, entry);
  const [, id] = /^(file-[A-Za-z0-9]{32})\.json$/.exec(entry) ?? [];
  if (id !== undefined) {
    const file = parseStoredFile((await readFile(path, 'utf8').catch(orNone)) ?? '');
    if (!file || !isExpired(file, now)) return;
    await rm(path, { force: true });
    await rm(join(folder, id), { force: true });
    return;
  }
  const age = now - ((await stat(path).catch(orNone))?.mtimeMs ?? now);
  const isDescribed = isFileId(entry) && (await access(`${path}.json`).then(yes, no));
  if (age > halfMadeMs && !isDescribed) await rm(path, { force: true, recursive: true });
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST') return;
    if (code === 'ENOENT') throw error;
    // A file system without links.
    await copyFile(from, to, constants.COPYFILE_EXCL).catch((copying: unknown) => {
      if (codeOf(copying) !== 'EEXIST') throw copying;
    });
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code; // as the file system names it

const yes = () => true;
const no = () => false;

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function orNone(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
}
