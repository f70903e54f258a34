import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { scanHash } from '../scan-hash.ts';

export interface TenantEntriesOptions<Value> {
  connection: Pick<Redis, 'hget' | 'hscan' | 'eval'>;
  /** The Redis hash of a tenant. */
  keyOf: (tenant: string) => string;
  /** Most entries of a tenant. */
  most: number;
  /** Undefined for what no release of this service has written. */
  parse: (text: string) => Value | undefined;
}

/** An entry as it stands. */
export interface TenantEntry<Value> {
  id: string;
  value: Value;
  /** What is stored, to change it by. */
  text: string;
}

/** About how many entries are read at a time: they may be long, and others wait for the connection and the process meanwhile. */
const pageSize = 25;

/** How often a change is made anew because another one came first. */
const mostTries = 20;

const script = readFileSync(new URL('../../src/tenant-entries/change-entry.lua', import.meta.url), 'utf8');

/**
 * What tenants keep here, such as endpoints and batches: a Redis hash for each tenant, which never expires, with an entry of JSON by its
 * id. A change compares what it was made from, so two that come at once lose nothing of each other.
 */
export class TenantEntries<Value extends object> {
  readonly #options: TenantEntriesOptions<Value>;

  constructor(options: TenantEntriesOptions<Value>) {
    this.#options = options;
  }

  /** All of a tenant, in no order: of each what `part` keeps of it. One that comes or goes meanwhile may be there or not. */
  async list<Part>(tenant: string, part: (value: Value) => Part): Promise<{ id: string; value: Part }[]> {
    const { connection, keyOf } = this.#options;
    const parts = new Map<string, Part>();
    for await (const page of scanHash(connection, keyOf(tenant), pageSize)) {
      for (const [id, text] of page) {
        const entry = this.#entry(id, text);
        if (entry) parts.set(id, part(entry.value));
      }
    }
    return [...parts].map(([id, value]) => ({ id, value }));
  }

  async get(tenant: string, id: string): Promise<TenantEntry<Value> | undefined> {
    const { connection, keyOf } = this.#options;
    const text = await connection.hget(keyOf(tenant), id);
    return text === null ? undefined : this.#entry(id, text);
  }

  /**
   * Adds an entry under a new id. The same may be added again when its reply was lost, also when it has been changed meanwhile. Returns
   * false, having stored nothing, when the tenant has as many as it may.
   */
  async add(tenant: string, id: string, value: Value): Promise<boolean> {
    return (await this.#change(tenant, id, { before: '', after: JSON.stringify(value) })) !== 'full';
  }

  /**
   * Changes an entry by a rule, which may be applied again when another change came first. A rule that returns undefined removes it.
   *
   * @returns what it is now, or was when it is gone; undefined when there is none.
   */
  async change(
    tenant: string,
    id: string,
    rule: (value: Value) => Value | undefined,
  ): Promise<Value | undefined> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const known = await this.get(tenant, id);
      if (!known) return undefined;
      const next = rule(known.value);
      const after = next ? JSON.stringify(next) : '';
      if ((await this.#change(tenant, id, { before: known.text, after })) === 'ok')
        return next ?? known.value;
    }
    throw new Error('the entry changes all the time');
  }

  #entry(id: string, text: string): TenantEntry<Value> | undefined {
    const value = this.#options.parse(text);
    return value && { id, value, text };
  }

  async #change(
    tenant: string,
    id: string,
    { before, after }: { before: string; after: string },
  ): Promise<unknown> {
    const { connection, keyOf, most } = this.#options;
    return connection.eval(script, 1, keyOf(tenant), id, before, after, most);
  }
}
