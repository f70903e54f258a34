import { type LineEndpoint, ServiceError } from '@sluice/contract';
import { repeatUnanswered } from '@sluice/runtime';
import type { BatchStore } from './batch-store.ts';
import type { BatchOwner } from './line-server.ts';
import {
  hasEnded,
  isBatchId,
  type KnownBatch,
  type ListedBatch,
  newBatchId,
  noTokens,
  type StoredBatch,
} from './stored-batch.ts';

export interface BatchRecordsOptions<Endpoint extends LineEndpoint> {
  store: BatchStore;
  /** The endpoints of its lines: batches of other endpoints do not exist here. */
  endpoints: readonly Endpoint[];
  /** Milliseconds since 1970, by the clock that all processes have. */
  now: () => number;
}

/** How long the lines of a batch may take, in milliseconds: the one window there is. */
const windowMs = 24 * 3_600_000;

/** How long a batch whose create was refused is taken back while Redis is away, in milliseconds. */
const takeBackWithinMs = 60_000;

/** How long a batch that has ended is shown, in milliseconds. */
export const keptMs = 30 * 24 * 3_600_000;

/** The batches that tenants make in one protocol. Those of another tenant do not exist. */
export class BatchRecords<Endpoint extends LineEndpoint> {
  readonly #options: BatchRecordsOptions<Endpoint>;
  readonly #now: () => number;

  constructor(options: BatchRecordsOptions<Endpoint>) {
    this.#options = options;
    this.#now = options.now;
  }

  /** Adds a batch that is to be run. What may be stored when it rejects is taken back. @throws {ServiceError} when the tenant has too many. */
  async add(
    { tenant, key }: BatchOwner,
    wanted: Pick<StoredBatch, 'inputFileId' | 'metadata' | 'outputSeconds'> & {
      endpoint: Endpoint;
      total?: number;
    },
  ): Promise<KnownBatch<Endpoint>> {
    const { store } = this.#options;
    const { total = 0, ...rest } = wanted;
    const createdAt = this.#now();
    const id = newBatchId();
    const batch = {
      ...rest,
      key,
      createdAt,
      expiresAt: createdAt + windowMs,
      status: 'validating',
      at: {},
      counts: { total, completed: 0, failed: 0 },
      tokens: noTokens,
      errors: [],
    } satisfies StoredBatch;
    await this.#prune(tenant);
    const isAdded = await store.add({ tenant, id }, batch).catch((error: unknown) => {
      void this.#takeBack(tenant, id);
      throw error;
    });
    if (!isAdded) {
      await store.close({ tenant, id });
      throw new ServiceError('batch_limit_reached');
    }
    return { id, batch };
  }

  /** All of them, the newest first, without what may be long. */
  async list(tenant: string): Promise<KnownBatch<Endpoint, ListedBatch>[]> {
    const all = await this.#options.store.list(tenant);
    return all
      .flatMap(({ id, value }) => this.#mine(id, value) ?? [])
      .toSorted((one, other) => other.batch.createdAt - one.batch.createdAt || (one.id < other.id ? 1 : -1));
  }

  /** Undefined when the tenant has no such batch. */
  async get(tenant: string, id: string): Promise<KnownBatch<Endpoint> | undefined> {
    if (!isBatchId(id)) return undefined;
    const batch = await this.#options.store.get({ tenant, id });
    return batch && this.#mine(id, batch);
  }

  /** Lets a batch end with what it has. Its lines that run are cancelled within a second or two. Nothing happens to one that ends already. */
  async cancel(tenant: string, id: string): Promise<KnownBatch<Endpoint> | undefined> {
    return this.#change(tenant, id, (batch) => this.#cancelled(batch));
  }

  #cancelled(batch: StoredBatch): StoredBatch {
    return batch.status === 'validating' || batch.status === 'in_progress'
      ? { ...batch, status: 'cancelling', at: { ...batch.at, cancelling: this.#now() } }
      : batch;
  }

  /** Removes a batch whose caller was told that there is none. One that a process has begun is cancelled. Never rejects. */
  async #takeBack(tenant: string, id: string): Promise<void> {
    const taking = () =>
      this.#options.store.change({ tenant, id }, (batch) =>
        batch.runner === undefined ? undefined : this.#cancelled(batch),
      );
    // A batch that is left then runs, and its list shows it.
    await repeatUnanswered(taking, { giveUpAt: performance.now() + takeBackWithinMs }).catch(() => undefined);
  }

  /** Forgets a batch that has ended. One that has not stays. */
  async forget(tenant: string, id: string): Promise<void> {
    await this.#options.store.change({ tenant, id }, (batch) => (hasEnded(batch) ? undefined : batch));
  }

  async #change(
    tenant: string,
    id: string,
    rule: (batch: StoredBatch) => StoredBatch,
  ): Promise<KnownBatch<Endpoint> | undefined> {
    if (!isBatchId(id)) return undefined;
    const changed = await this.#options.store.change({ tenant, id }, (batch) =>
      this.#mine(id, batch) ? rule(batch) : batch,
    );
    return changed && this.#mine(id, changed);
  }

  #mine<Stored extends ListedBatch>(id: string, batch: Stored): KnownBatch<Endpoint, Stored> | undefined {
    const endpoint = this.#options.endpoints.find((each) => each === batch.endpoint);
    return endpoint && { id, batch: { ...batch, endpoint } };
  }

  /** Forgets batches that have ended long ago. */
  async #prune(tenant: string): Promise<void> {
    const { store } = this.#options;
    const isOld = (batch: ListedBatch) => hasEnded(batch) && batch.createdAt + keptMs < this.#now();
    const old = (await store.list(tenant)).filter(({ value }) => isOld(value));
    for (const { id } of old)
      await store.change({ tenant, id }, (batch) => (isOld(batch) ? undefined : batch));
  }
}
