import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { type KnownEndpoint, parseEndpoint, type StoredEndpoint } from './stored-endpoint.ts';

export interface EndpointStoreOptions {
  connection: Pick<Redis, 'hget' | 'hgetall' | 'eval'>;
  /** Starts every key of the cell. */
  keyPrefix: string;
}

/** Most endpoints of a tenant. */
export const mostEndpoints = 20;

/** How often a change is made anew because another one came first. */
const mostTries = 20;

const script = readFileSync(new URL('../src/change-endpoint.lua', import.meta.url), 'utf8');

/**
 * The endpoints of each tenant, in one Redis hash a tenant, which never expires. Secrets stand there as they are, because they sign; who
 * can read Redis can read every answer as well.
 */
export class EndpointStore {
  readonly #options: EndpointStoreOptions;

  constructor(options: EndpointStoreOptions) {
    this.#options = options;
  }

  /** The newest first. */
  async list(tenant: string): Promise<KnownEndpoint[]> {
    const entries = Object.entries(await this.#options.connection.hgetall(this.#key(tenant)));
    return entries
      .flatMap(([id, text]) => parseEndpoint(id, text) ?? [])
      .toSorted(
        (one, other) => other.endpoint.createdAt - one.endpoint.createdAt || (one.id < other.id ? 1 : -1),
      );
  }

  async get(tenant: string, id: string): Promise<KnownEndpoint | undefined> {
    const text = await this.#options.connection.hget(this.#key(tenant), id);
    return text === null ? undefined : parseEndpoint(id, text);
  }

  /** Returns false, having stored nothing, when the tenant has as many as it may. */
  async add(tenant: string, id: string, endpoint: StoredEndpoint): Promise<boolean> {
    return (await this.#change(tenant, id, { before: '', after: JSON.stringify(endpoint) })) === 'ok';
  }

  /**
   * Changes an endpoint by a rule, which may be applied again when another change came first. A rule that returns undefined removes it.
   *
   * @returns what it is now, or was when it is gone; undefined when there is none.
   */
  async change(
    tenant: string,
    id: string,
    rule: (endpoint: StoredEndpoint) => StoredEndpoint | undefined,
  ): Promise<StoredEndpoint | undefined> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const known = await this.get(tenant, id);
      if (!known) return undefined;
      const next = rule(known.endpoint);
      const after = next ? JSON.stringify(next) : '';
      if ((await this.#change(tenant, id, { before: known.text, after })) === 'ok')
        return next ?? known.endpoint;
    }
    throw new Error('the endpoint changes all the time');
  }

  async #change(
    tenant: string,
    id: string,
    { before, after }: { before: string; after: string },
  ): Promise<unknown> {
    const { connection } = this.#options;
    return connection.eval(script, 1, this.#key(tenant), id, before, after, mostEndpoints);
  }

  #key(tenant: string): string {
    return `${this.#options.keyPrefix}webhooks:${tenant}`;
  }
}
