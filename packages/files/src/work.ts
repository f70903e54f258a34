import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** A folder in which a process works on something long. When it dies, another one opens the work and finds what was saved. */
export interface Work {
  readonly path: string;
  /** Resolves when the first bytes of a file of the folder outlive this process and its machine. A file only grows. */
  save(name: string, bytes: number, signal?: AbortSignal): Promise<void>;
  /** Takes away a file of the folder, or a part of what was saved of it, where the signal is aborted. */
  drop(name: string, signal?: AbortSignal): Promise<void>;
  /** Leaves the work as it is saved. */
  leave(): Promise<void>;
}

/** Work in a folder that every process has. */
export async function folderWork(path: string): Promise<Work> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  return {
    path,
    async save(name) {
      // Opened anew: what one writer has written is saved by any handle of the file.
      const handle = await open(join(path, name), 'r+');
      try {
        await handle.datasync();
      } finally {
        await handle.close();
      }
    },
    drop: (name) => rm(join(path, name), { force: true }),
    leave: () => Promise.resolve(),
  };
}
