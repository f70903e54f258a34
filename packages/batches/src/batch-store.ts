import { repeatUnanswered, TenantEntries } from '@sluice/runtime';
import type { Redis } from 'ioredis';
import { type ListedBatch, parseBatch, type StoredBatch } from './stored-batch.ts';

export interface BatchStoreOptions {
  connection: Pick<Redis, 'hget' | 'hscan' | 'eval' | 'sadd' | 'srem' | 'smembers'>;
  /** Starts every key of the cell. */
  keyPrefix: string;
}

/** A batch by its tenant and its id. */
export interface BatchName {
  tenant: string;
  id: string;
}

/** Most batches of a tenant, with those that have ended. */
export const mostBatches = 1_000;

/** How long a missing reply to an add is asked for again, in milliseconds: less than the 1.5 s after which a caller is to have its refusal. */
const repeatWithinMs = 1_300;

/** The batches of each tenant, and which of them have not ended. */
export class BatchStore {
  readonly #options: BatchStoreOptions;
  readonly #entries: TenantEntries<StoredBatch>;

  constructor(options: BatchStoreOptions) {
    const { connection, keyPrefix } = options;
    this.#options = options;
    this.#entries = new TenantEntries({
      connection,
      keyOf: (tenant) => `${keyPrefix}batches:${tenant}`,
      most: mostBatches,
      parse: parseBatch,
    });
  }

  /** All of a tenant, in no order. Together their errors and metadata would be many megabytes. */
  list(tenant: string): Promise<{ id: string; value: ListedBatch }[]> {
    return this.#entries.list(tenant, ({ errors: _, metadata: _metadata, ...batch }) => batch);
  }

  async get({ tenant, id }: BatchName): Promise<StoredBatch | undefined> {
    return (await this.#entries.get(tenant, id))?.value;
  }

  /**
   * Adds a batch, to be run. A reply that was lost is asked for again. Returns false, having stored nothing that counts, when the tenant has
   * as many as it may.
   *
   * @throws {Error} of Redis. Nobody knows whether it is stored then.
   */
  async add(name: BatchName, batch: StoredBatch): Promise<boolean> {
    const giveUpAt = performance.now() + repeatWithinMs;
    return repeatUnanswered(() => this.#add(name, batch), { giveUpAt });
  }

  async #add({ tenant, id }: BatchName, batch: StoredBatch): Promise<boolean> {
    // First among those that are open: one that is stored and not among them would never run.
    await this.#open({ tenant, id });
    const isAdded = await this.#entries.add(tenant, id, batch);
    // A process that looked at it before it was stored has taken it from them.
    if (isAdded) await this.#open({ tenant, id });
    return isAdded;
  }

  /** Changes a batch by a rule; see `TenantEntries.change`. One that ends by that is open until `close`. */
  async change(
    { tenant, id }: BatchName,
    rule: (batch: StoredBatch) => StoredBatch | undefined,
  ): Promise<StoredBatch | undefined> {
    const changed = await this.#entries.change(tenant, id, rule);
    if (!changed) await this.#closeAbsent({ tenant, id });
    return changed;
  }

  /** Those that have not ended, those of whose end nobody may have been told, and some that are not stored. */
  async open(): Promise<BatchName[]> {
    const names = await this.#options.connection.smembers(this.#openKey);
    return names.flatMap((text) => parseName(text) ?? []);
  }

  async close(name: BatchName): Promise<void> {
    await this.#options.connection.srem(this.#openKey, nameText(name));
  }

  /** Takes a name away that is none of a batch. One that is being added stays: it is stored by the second look, or opened again behind it. */
  async #closeAbsent(name: BatchName): Promise<void> {
    await this.close(name);
    if (await this.get(name)) await this.#open(name);
  }

  async #open(name: BatchName): Promise<void> {
    await this.#options.connection.sadd(this.#openKey, nameText(name));
  }

  get #openKey(): string {
    return `${this.#options.keyPrefix}open-batches`;
  }
}

/** An id has no space, and a tenant's name may have. */
const nameText = ({ tenant, id }: BatchName) => `${id} ${tenant}`;

function parseName(text: string): BatchName | undefined {
  const at = text.indexOf(' ');
  return at < 0 ? undefined : { id: text.slice(0, at), tenant: text.slice(at + 1) };
}
