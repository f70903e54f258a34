import {
  type Batch,
  type createBatchSchema,
  type listBatchesQuerySchema,
  type Page,
  pageBehind,
  ServiceError,
} from '@sluice/contract';
import type { Files } from '@sluice/files';
import type { z } from 'zod';
import type { BatchStore } from './batch-store.ts';
import type { BatchOwner } from './line-server.ts';
import { hasEnded, isBatchId, newBatchId, noTokens, presentBatch, type StoredBatch } from './stored-batch.ts';

export interface BatchesOptions {
  store: BatchStore;
  files: Files;
  /** Milliseconds since 1970; `Date.now` by default. */
  now?: () => number;
}

/** How long the lines of a batch may take, in milliseconds: the one window there is. */
const windowMs = 24 * 3_600_000;

/** How long a batch that has ended is shown, in milliseconds. */
const keptMs = 30 * 24 * 3_600_000;

/** The batches of tenants, as they ask for them. Those of another tenant do not exist. */
export class Batches {
  readonly #options: BatchesOptions;
  readonly #now: () => number;

  constructor(options: BatchesOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** @throws {ServiceError} when there is no such file, or the tenant has too many batches. */
  async create(
    { tenant, key }: BatchOwner,
    {
      input_file_id: inputFileId,
      endpoint,
      metadata,
      output_expires_after: expiry,
    }: z.output<typeof createBatchSchema>,
  ): Promise<Batch> {
    const { store, files } = this.#options;
    const file = await files.get(tenant, inputFileId).catch((error: unknown) => {
      throw error instanceof ServiceError && error.code === 'not_found'
        ? new ServiceError('invalid_value', `There is no file '${inputFileId}'.`, { param: 'input_file_id' })
        : error;
    });
    if (file.purpose !== 'batch') {
      const message = `The purpose of the file is ${file.purpose}, and must be batch.`;
      throw new ServiceError('invalid_value', message, { param: 'input_file_id' });
    }
    const createdAt = this.#now();
    const id = newBatchId();
    const batch: StoredBatch = {
      key,
      endpoint,
      inputFileId,
      createdAt,
      expiresAt: createdAt + windowMs,
      ...(metadata && { metadata }),
      ...(expiry && { outputSeconds: expiry.seconds }),
      status: 'validating',
      at: {},
      counts: { total: 0, completed: 0, failed: 0 },
      tokens: noTokens,
      errors: [],
    };
    await this.#prune(tenant);
    if (!(await store.add({ tenant, id }, batch))) {
      await store.close({ tenant, id });
      throw new ServiceError('batch_limit_reached');
    }
    return presentBatch(id, batch);
  }

  /** The newest first. */
  async list(
    tenant: string,
    { limit, after }: z.output<typeof listBatchesQuerySchema>,
  ): Promise<Page<Batch>> {
    const all = (await this.#options.store.list(tenant)).toSorted(
      (one, other) => other.value.createdAt - one.value.createdAt || (one.id < other.id ? 1 : -1),
    );
    const { data, hasMore } = pageBehind(all, { limit, after }, "'after' names no batch of yours.");
    return { data: data.map(({ id, value }) => presentBatch(id, value)), hasMore };
  }

  /** @throws {ServiceError} when the tenant has no such batch. */
  async get(tenant: string, id: string): Promise<Batch> {
    const batch = isBatchId(id) ? await this.#options.store.get({ tenant, id }) : undefined;
    if (!batch) throw batchNotFound(id);
    return presentBatch(id, batch);
  }

  /**
   * Lets a batch end with what it has. Its lines that run are cancelled within a second or two. Nothing happens to one that ends already.
   *
   * @throws {ServiceError} when the tenant has no such batch.
   */
  async cancel(tenant: string, id: string): Promise<Batch> {
    const changed = isBatchId(id)
      ? await this.#options.store.change({ tenant, id }, (batch) =>
          batch.status === 'validating' || batch.status === 'in_progress'
            ? { ...batch, status: 'cancelling', at: { ...batch.at, cancelling: this.#now() } }
            : batch,
        )
      : undefined;
    if (!changed) throw batchNotFound(id);
    return presentBatch(id, changed);
  }

  /** Forgets batches that have ended long ago. */
  async #prune(tenant: string): Promise<void> {
    const { store } = this.#options;
    const isOld = (batch: StoredBatch) => hasEnded(batch) && batch.createdAt + keptMs < this.#now();
    const old = (await store.list(tenant)).filter(({ value }) => isOld(value));
    for (const { id } of old)
      await store.change({ tenant, id }, (batch) => (isOld(batch) ? undefined : batch));
  }
}

function batchNotFound(id: string): ServiceError {
  return new ServiceError('not_found', `There is no batch '${id.slice(0, 100)}'.`, { param: 'id' });
}
