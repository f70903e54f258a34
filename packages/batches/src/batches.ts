import {
  type Batch,
  type BatchEndpoint,
  batchEndpoints,
  type createBatchSchema,
  type listBatchesQuerySchema,
  type Page,
  pageBehind,
  ServiceError,
} from '@sluice/contract';
import type { Files } from '@sluice/files';
import type { z } from 'zod';
import { BatchRecords } from './batch-records.ts';
import type { BatchStore } from './batch-store.ts';
import type { BatchOwner } from './line-server.ts';
import { type KnownBatch, presentBatch } from './stored-batch.ts';

export interface BatchesOptions {
  store: BatchStore;
  files: Files;
  /** Milliseconds since 1970, by the clock that all processes have. */
  now: () => number;
}

/** The batches of files, as tenants ask for them by OpenAI's API. */
export class Batches {
  readonly #files: Files;
  readonly #records: BatchRecords<BatchEndpoint>;

  constructor({ store, files, now }: BatchesOptions) {
    this.#files = files;
    this.#records = new BatchRecords({ store, endpoints: batchEndpoints, now });
  }

  /** @throws {ServiceError} when there is no such file, or the tenant has too many batches or files. */
  async create(
    owner: BatchOwner,
    {
      input_file_id: inputFileId,
      endpoint,
      metadata,
      output_expires_after: expiry,
    }: z.output<typeof createBatchSchema>,
  ): Promise<Batch> {
    const file = await this.#files.get(owner.tenant, inputFileId).catch((error: unknown) => {
      throw error instanceof ServiceError && error.code === 'not_found'
        ? new ServiceError('invalid_value', `There is no file '${inputFileId}'.`, { param: 'input_file_id' })
        : error;
    });
    if (file.purpose !== 'batch') {
      const message = `The purpose of the file is ${file.purpose}, and must be batch.`;
      throw new ServiceError('invalid_value', message, { param: 'input_file_id' });
    }
    // Its results are files, too. Those of a batch that runs are kept whatever there is by then.
    await this.#files.checkRoom(owner.tenant);
    const known = await this.#records.add(owner, {
      endpoint,
      inputFileId,
      ...(metadata && { metadata }),
      ...(expiry && { outputSeconds: expiry.seconds }),
    });
    return presentBatch(known);
  }

  /** The newest first. */
  async list(
    tenant: string,
    { limit, after }: z.output<typeof listBatchesQuerySchema>,
  ): Promise<Page<Batch>> {
    const all = await this.#records.list(tenant);
    const { data, hasMore } = pageBehind(all, { limit, after }, "'after' names no batch of yours.");
    const shown: Batch[] = [];
    for (const { id } of data) {
      const known = await this.#records.get(tenant, id);
      if (known) shown.push(presentBatch(known));
    }
    return { data: shown, hasMore };
  }

  /** @throws {ServiceError} when the tenant has no such batch. */
  async get(tenant: string, id: string): Promise<Batch> {
    return presented(await this.#records.get(tenant, id), id);
  }

  /** Lets a batch end with what it has; see `BatchRecords`. @throws {ServiceError} when the tenant has no such batch. */
  async cancel(tenant: string, id: string): Promise<Batch> {
    return presented(await this.#records.cancel(tenant, id), id);
  }
}

function presented(known: KnownBatch<BatchEndpoint> | undefined, id: string): Batch {
  if (!known) throw batchNotFound(id);
  return presentBatch(known);
}

export function batchNotFound(id: string): ServiceError {
  return new ServiceError('not_found', `There is no batch '${id.slice(0, 100)}'.`, { param: 'id' });
}
