import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { orNone } from './absent.ts';

/** How long something half made may lie before it is swept away, in milliseconds: nobody writes for that long. */
export const halfMadeMs = 48 * 3_600_000;

/** Content that is on the disk and not a file yet. */
export interface Draft {
  path: string;
  bytes: number;
}

/** Passes content on, or ends it by an error. */
export type Through = (source: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

/** The folder of what is half made. What a process leaves that dies is swept away. */
export class Drafts {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** A place for something new, at which nothing is. */
  async place(): Promise<string> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    return join(this.#folder, randomUUID());
  }

  /** Writes content until it is on the disk. Rejects, and leaves nothing, when the content does. */
  async write(content: Readable, through: Through): Promise<Draft> {
    const path = await this.place();
    try {
      const written = createWriteStream(path, { mode: 0o600, flush: true });
      await pipeline(content, through, written);
      return { path, bytes: written.bytesWritten };
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  /**
   * The time in the file system of the folder, in milliseconds since 1970. What lies there is as old as that says: the clock of another machine
   * would find content old that is being written.
   */
  async now(): Promise<number> {
    const path = await this.place();
    try {
      await writeFile(path, '', { mode: 0o600 });
      return (await stat(path)).mtimeMs;
    } finally {
      await rm(path, { force: true });
    }
  }

  async sweep(): Promise<void> {
    await sweepFolder(this.#folder, await this.now());
  }
}

/** Takes away what has not changed in a folder for a long time, unless it `isKept`. `now` is the time in its file system. */
export async function sweepFolder(
  folder: string,
  now: number,
  isKept: (name: string) => boolean | Promise<boolean> = () => false,
): Promise<void> {
  await inTurn((await readdir(folder).catch(orNone)) ?? [], async (name) => {
    const path = join(folder, name);
    const { mtimeMs = now } = (await stat(path).catch(orNone)) ?? {};
    if (now - mtimeMs > halfMadeMs && !(await isKept(name))) await rm(path, { recursive: true, force: true });
  });
}

/** Acts on one after the other, also behind one that fails, so that it holds up no other. Rejects with the first failure, at the end. */
export async function inTurn<Item>(items: Iterable<Item>, act: (item: Item) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) await act(item).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
