import { renameSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';

type WasiImports = Record<string, (...args: number[]) => number>;

/** The result codes of WASI. */
const SUCCESS = 0;
const IO_ERROR = 29;

const snapshotName = 'dump.rdb';

/**
 * Puts snapshots onto the disk beside the store. Valkey waits for the disk before it puts a new snapshot in the place of the last
 * one, and a busy disk takes longer for that than clients wait for an answer, which its single thread does not give meanwhile.
 *
 * A snapshot takes the place of the last one when all of it is on the disk, so a loss of power leaves the one or the other.
 */
export class SnapshotFile {
  /** The snapshot that the store loads when it starts. */
  readonly path: string;
  readonly #folder: string;
  readonly #next: string;
  #written = 0;
  #placed: Promise<unknown> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
    this.path = join(folder, snapshotName);
    this.#next = `${this.path}.next`;
  }

  /** Rejects if the last snapshot could not be put in its place. */
  get placed(): Promise<unknown> {
    return this.#placed;
  }

  /** The imports of the store in place of those of WASI: it neither waits for the disk nor renames its snapshots itself. */
  imports(wasi: WasiImports, memory: () => ArrayBufferLike): WasiImports {
    const textAt = (at: number, bytes: number) => Buffer.from(memory(), at, bytes).toString();
    const rename = (from: string): number => {
      try {
        renameSync(join(this.#folder, from), this.#next);
      } catch {
        return IO_ERROR;
      }
      const before = this.#placed.catch(() => undefined);
      const number = (this.#written += 1);
      this.#placed = before.then(() => this.#place(number));
      // The failure is for those who wait for it.
      this.#placed.catch(() => undefined);
      return SUCCESS;
    };
    return {
      ...wasi,
      fd_sync: () => SUCCESS,
      path_rename: (folder = 0, from = 0, fromBytes = 0, toFolder = 0, to = 0, toBytes = 0) =>
        textAt(to, toBytes) === snapshotName
          ? rename(textAt(from, fromBytes))
          : (wasi['path_rename']?.(folder, from, fromBytes, toFolder, to, toBytes) ?? IO_ERROR),
    };
  }

  async #place(number: number): Promise<void> {
    if (number !== this.#written) return; // a later one is there already
    const file = await open(this.#next, 'r+');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
    if (number === this.#written) renameSync(this.#next, this.path);
  }
}
