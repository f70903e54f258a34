import { rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import {
  type FileObject,
  type FilePurpose,
  type ListFilesQuery,
  type Page,
  pageBehind,
  ServiceError,
} from '@sluice/contract';
import { type Logger, throttledWarning } from '@sluice/runtime';
import { codeOf } from './absent.ts';
import { type DraftReservation, DraftRoom } from './draft-room.ts';
import type { Draft, Through } from './drafts.ts';
import type { FileStore } from './file-store.ts';
import { isExpired, newFileId, presentFile, type StoredFile } from './stored-file.ts';
import { toldWhenUnreachable } from './unreachable.ts';
import type { Work } from './work.ts';

export interface FileLimits {
  /** Most bytes of a file. */
  bytes: number;
  /** Most bytes of all files of a tenant together. */
  tenantBytes: number;
  /** Most files of a tenant. */
  tenantFiles: number;
}

export interface FilesOptions {
  /** Where they are. */
  store: FileStore;
  limits: FileLimits;
  logger: Logger;
  /** Milliseconds since 1970, by the clock that all processes have. It may throw what a caller is told, while nobody knows it. */
  now: () => number;
}

export interface NewFile {
  /** A new one by default. */
  id?: string;
  name: string;
  purpose: FilePurpose;
  expiresAfterSeconds?: number | undefined;
}

/** How often what has expired is swept away, in milliseconds: an hour. A file is gone for everybody before. */
const sweepEveryMs = 3_600_000;

/** Files of a batch go by themselves, as OpenAI's do, after thirty days. */
const batchSeconds = 30 * 86_400;

/** How many of the largest files a process has as drafts at a time. A tenant has half of them. */
const largestDrafts = 4;

/** Most bytes of the name of a file. */
const longestName = 255;

/** The files of tenants. One of another tenant does not exist. */
export class Files {
  readonly #store: FileStore;
  readonly #options: FilesOptions;
  readonly #now: () => number;
  readonly #draftRoom: DraftRoom;
  readonly #unreachable: (error: unknown) => never;
  /** What each draft has of it, by its path. */
  readonly #reservations = new Map<string, DraftReservation>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FilesOptions) {
    this.#options = options;
    this.#draftRoom = new DraftRoom(largestDrafts * options.limits.bytes);
    this.#now = options.now;
    this.#store = options.store;
    this.#unreachable = toldWhenUnreachable(throttledWarning(options.logger, 'files cannot be reached').warn);
  }

  start(): void {
    const sweep = async () => {
      try {
        await this.#store.sweep(this.#now());
      } catch (error) {
        this.#options.logger.warn({ err: error }, 'files not swept');
      }
    };
    this.#timer = setInterval(() => void sweep(), sweepEveryMs);
    void sweep();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /**
   * Writes the content of a new file to a draft, until it is on the disk. Nothing stays of content that breaks off. The draft takes room on this
   * machine until it is dropped.
   *
   * @param announced how many bytes it says to have, for which there must be room at once; 0 where it does not say.
   * @throws {ServiceError} when it is too large, the tenant has too much, too much is under way, or the disk is full.
   */
  async receive(tenant: string, content: Readable, announced = 0): Promise<Draft> {
    const most = await this.#roomOf(tenant);
    const reservation = this.#draftRoom.open(tenant);
    try {
      // A form is a little longer than its file, and is refused for that only once the file is.
      reservation.reach(Math.min(announced, most));
      const draft = await this.#store.write(content, bounded(most, reservation));
      this.#reservations.set(draft.path, reservation);
      return draft;
    } catch (error) {
      reservation.release();
      return this.#unreachable(error);
    }
  }

  /** @throws {ServiceError} when the tenant has as much as it may. */
  async checkRoom(tenant: string): Promise<void> {
    await this.#roomOf(tenant);
  }

  /** Takes a draft away that is no file, or is one by now. */
  async drop({ path }: Draft): Promise<void> {
    try {
      await rm(path, { force: true });
    } finally {
      this.#reservations.get(path)?.release();
      this.#reservations.delete(path);
    }
  }

  /** Makes a file of a draft, under an id that may have been made before: done twice, it is one file. The draft stays. */
  async keep(
    tenant: string,
    { id = newFileId(), name, purpose, expiresAfterSeconds }: NewFile,
    draft: Draft,
    signal?: AbortSignal,
  ): Promise<FileObject> {
    const createdAt = this.#now();
    const seconds = expiresAfterSeconds ?? (purpose === 'batch' ? batchSeconds : undefined);
    const file: StoredFile = {
      id,
      name: plainName(name),
      purpose,
      bytes: draft.bytes,
      createdAt,
      expiresAt: seconds === undefined ? undefined : createdAt + seconds * 1_000,
    };
    await this.#store.keep(tenant, file, draft, signal).catch(this.#unreachable);
    return presentFile(file);
  }

  async list(tenant: string, { limit, order, after, purpose }: ListFilesQuery): Promise<Page<FileObject>> {
    const all = (await this.#unexpired(tenant)).filter(
      (file) => purpose === undefined || file.purpose === purpose,
    );
    const sign = order === 'asc' ? 1 : -1;
    const sorted = all.toSorted(
      (one, other) => sign * (one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1)),
    );
    const { data, hasMore } = pageBehind(sorted, { limit, after }, "'after' names no file of yours.");
    return { data: data.map(presentFile), hasMore };
  }

  /** @throws {ServiceError} when the tenant has no such file, or no more. */
  async get(tenant: string, id: string): Promise<FileObject> {
    return presentFile(await this.#find(tenant, id));
  }

  /** Most bytes of memory that a reader of a file keeps as long as it takes nothing. */
  get readerBytes(): number {
    return this.#store.readerBytes;
  }

  /**
   * `keep` waits for room for the bytes of memory that the reader will keep, before anything is read.
   *
   * @throws {ServiceError} as `get` does.
   */
  async read(
    tenant: string,
    id: string,
    keep?: (bytes: number) => Promise<void>,
  ): Promise<{ file: FileObject; content: Readable }> {
    const file = await this.#find(tenant, id);
    await keep?.(Math.min(file.bytes, this.#store.readerBytes));
    const content = await this.#store.read(tenant, file).catch((error: unknown) => {
      // It was deleted meanwhile.
      if (codeOf(error) === 'ENOENT') throw fileNotFound(id);
      return this.#unreachable(error);
    });
    return { file: presentFile(file), content };
  }

  /** Reads a file by what takes all of its content. @throws {ServiceError} as `get` does, and when the file system fails on the way. */
  async readWith<Result>(
    tenant: string,
    id: string,
    take: (file: FileObject, content: Readable) => Promise<Result>,
  ): Promise<Result> {
    const { file, content } = await this.read(tenant, id);
    return take(file, content).catch(this.#unreachable);
  }

  /** @throws {ServiceError} as `get` does. */
  async remove(tenant: string, id: string): Promise<void> {
    await this.#find(tenant, id);
    await this.#store.remove(tenant, id).catch(this.#unreachable);
  }

  /** Goes on with work of this name, whichever process has left it, or begins it. */
  openWork(name: string, signal?: AbortSignal): Promise<Work> {
    return this.#store.openWork(name, signal);
  }

  /** Takes away all work of this name that was left, for it is done. Without any it does nothing. */
  removeWork(name: string, signal?: AbortSignal): Promise<void> {
    return this.#store.removeWork(name, signal);
  }

  /** Takes away work that has been left for two days, unless it is open. */
  sweepWork(isOpen: (name: string) => boolean): Promise<void> {
    return this.#store.sweepWork(isOpen);
  }

  /** The files of a tenant without those that have expired, which lie there until the next sweep. */
  async #unexpired(tenant: string): Promise<StoredFile[]> {
    const now = this.#now();
    const all = await this.#store.list(tenant).catch(this.#unreachable);
    return all.filter((file) => !isExpired(file, now));
  }

  async #find(tenant: string, id: string): Promise<StoredFile> {
    const file = await this.#store.find(tenant, id).catch(this.#unreachable);
    if (!file || isExpired(file, this.#now())) throw fileNotFound(id);
    return file;
  }

  /** How many bytes a new file may have. Two that come at once may both have what is left. */
  async #roomOf(tenant: string): Promise<number> {
    const { limits } = this.#options;
    const all = await this.#unexpired(tenant);
    const bytes = all.reduce((sum, file) => sum + file.bytes, 0);
    if (all.length >= limits.tenantFiles || bytes >= limits.tenantBytes) {
      const message = `You have ${all.length} files of ${bytes} bytes, which is as much as you may: delete some.`;
      throw new ServiceError('file_limit_reached', message);
    }
    return Math.min(limits.bytes, limits.tenantBytes - bytes);
  }
}

function bounded(most: number, reservation: DraftReservation): Through {
  return async function* (source) {
    let bytes = 0;
    for await (const chunk of source) {
      bytes += chunk.length;
      if (bytes > most)
        throw new ServiceError('request_too_large', `The file has more than ${most} bytes.`, {
          param: 'file',
        });
      reservation.reach(bytes);
      yield chunk;
    }
  };
}

/** The last part of a path, without what no name should have. */
function plainName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  return Buffer.from(last.replaceAll(/\p{Cc}/gu, ''))
    .subarray(0, longestName)
    .toString('utf8')
    .replaceAll('\ufffd', '');
}

export function fileNotFound(id: string): ServiceError {
  return new ServiceError('not_found', `There is no file '${id.slice(0, 100)}'.`, { param: 'id' });
}
