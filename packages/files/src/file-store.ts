import type { Readable } from 'node:stream';
import type { Draft, Through } from './drafts.ts';
import type { StoredFile } from './stored-file.ts';
import type { Work } from './work.ts';

/**
 * Where files are: in a folder that every api has (`FileFolder`), or in a bucket (`FileBucket`). A file is there or it is not. What takes long in a
 * bucket is left, by the reason of its signal, once that is aborted.
 */
export interface FileStore {
  /** Most bytes of memory that a reader of a file keeps as long as it takes nothing. */
  readonly readerBytes: number;
  /** Writes content to a draft on this machine. Rejects, and leaves no draft, when the content does. */
  write(content: Readable, through: Through): Promise<Draft>;
  /** Makes a file of a draft, which stays where it is. Done twice it is one file. */
  keep(tenant: string, file: StoredFile, draft: Draft, signal?: AbortSignal): Promise<void>;
  find(tenant: string, id: string): Promise<StoredFile | undefined>;
  /** All of a tenant, in no order. */
  list(tenant: string): Promise<StoredFile[]>;
  /** The content of a file that was found. The reader may take hours. Whoever has it reads it to its end or destroys it. */
  read(tenant: string, file: StoredFile): Promise<Readable>;
  remove(tenant: string, id: string): Promise<void>;
  /** Takes away files that have expired by `now`, and what was half made when a process died and is old by the clock of this place. */
  sweep(now: number): Promise<void>;
  /** Goes on with work of this name where another process has left it, or begins it. */
  openWork(name: string, signal?: AbortSignal): Promise<Work>;
  /** Takes away all work of this name that was left, for it is done. Without any it does nothing. */
  removeWork(name: string, signal?: AbortSignal): Promise<void>;
  /** Takes away work that has been left for two days by the clock of this place, unless it is open. */
  sweepWork(isOpen: (name: string) => boolean): Promise<void>;
}
