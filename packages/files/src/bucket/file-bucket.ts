import type { Readable } from 'node:stream';
import type { Logger } from '@sluice/runtime';
import { type Draft, type Drafts, halfMadeMs, inTurn, type Through } from '../drafts.ts';
import type { FileStore } from '../file-store.ts';
import { isExpired, isFileId, type StoredFile } from '../stored-file.ts';
import type { Work } from '../work.ts';
import { BucketClient, type BucketOptions } from './bucket-client.ts';
import { type BucketKeys, bucketKeys } from './bucket-keys.ts';
import { openBucketWork } from './bucket-work.ts';
import { ProcessDrafts } from './process-drafts.ts';
import { readerBytes, readObject } from './read-object.ts';

export interface FileBucketOptions extends BucketOptions {
  /** Starts every key of the bucket, for one that others use, too. */
  prefix: string;
  /** The folder of this machine for what is half made. Each process has one of its own in it. */
  drafts: string;
  logger: Logger;
}

/** Files in a bucket, as one object each. This machine keeps what is half made, and nothing that another one needs. */
export class FileBucket implements FileStore {
  readonly readerBytes = readerBytes;
  readonly #client: BucketClient;
  readonly #keys: BucketKeys;
  readonly #drafts: Drafts;

  constructor({ prefix, drafts, logger, ...bucket }: FileBucketOptions) {
    this.#client = new BucketClient(bucket, logger);
    this.#keys = bucketKeys(prefix);
    this.#drafts = new ProcessDrafts(drafts);
  }

  write(content: Readable, through: Through): Promise<Draft> {
    return this.#drafts.write(content, through);
  }

  async keep(tenant: string, file: StoredFile, { path, bytes }: Draft, signal?: AbortSignal): Promise<void> {
    // Two that do it at once make two objects, of which everybody finds the same.
    if (await this.find(tenant, file.id)) return;
    await this.#client.put(this.#keys.of(tenant, file), path, { from: 0, to: bytes }, signal);
  }

  async find(tenant: string, id: string): Promise<StoredFile | undefined> {
    if (!isFileId(id)) return undefined;
    for await (const file of this.#found(this.#keys.ofFile(tenant, id))) return file;
    return undefined;
  }

  async list(tenant: string): Promise<StoredFile[]> {
    const files = new Map<string, StoredFile>();
    for await (const file of this.#found(this.#keys.ofTenant(tenant))) {
      if (!files.has(file.id)) files.set(file.id, file);
    }
    return [...files.values()];
  }

  /** A file that is removed meanwhile ends its readers with an error. */
  read(tenant: string, file: StoredFile): Promise<Readable> {
    const content = readObject(this.#client, { key: this.#keys.of(tenant, file), bytes: file.bytes });
    return Promise.resolve(content);
  }

  remove(tenant: string, id: string): Promise<void> {
    return this.#client.removeAll(this.#keys.ofFile(tenant, id));
  }

  sweep(now: number): Promise<void> {
    return inTurn([() => this.#drafts.sweep(), () => this.#removeExpired(now)], (sweep) => sweep());
  }

  async openWork(name: string, signal?: AbortSignal): Promise<Work> {
    const folder = await this.#drafts.place();
    return openBucketWork(name, folder, { client: this.#client, keys: this.#keys, signal });
  }

  removeWork(name: string, signal?: AbortSignal): Promise<void> {
    return this.#client.removeAll(this.#keys.ofWork(name), signal);
  }

  async sweepWork(isOpen: (name: string) => boolean): Promise<void> {
    const { allWork } = this.#keys;
    for await (const { key, ageMs } of this.#client.list(allWork)) {
      const [name = ''] = key.slice(allWork.length).split('/');
      if (ageMs > halfMadeMs && !isOpen(name)) await this.#client.remove(key);
    }
  }

  async #removeExpired(now: number): Promise<void> {
    for await (const { key, bytes } of this.#client.list(this.#keys.files)) {
      const file = this.#keys.parse(key, bytes);
      if (file && isExpired(file, now)) await this.#client.remove(key);
    }
  }

  /** The files of the objects whose keys begin so. */
  async *#found(prefix: string): AsyncGenerator<StoredFile> {
    for await (const { key, bytes } of this.#client.list(prefix)) {
      const file = this.#keys.parse(key, bytes);
      if (file) yield file;
    }
  }
}
