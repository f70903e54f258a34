import { TenantEntries } from '@sluice/runtime';
import type { Redis } from 'ioredis';
import { type KnownEndpoint, parseEndpoint, type StoredEndpoint } from './stored-endpoint.ts';

export interface EndpointStoreOptions {
  connection: Pick<Redis, 'hget' | 'hscan' | 'eval'>;
  /** Starts every key of the cell. */
  keyPrefix: string;
}

/** Most endpoints of a tenant. */
export const mostEndpoints = 20;

/** The endpoints of each tenant. Secrets stand there as they are, because they sign; who can read Redis can read every answer as well. */
export class EndpointStore {
  readonly #entries: TenantEntries<StoredEndpoint>;

  constructor({ connection, keyPrefix }: EndpointStoreOptions) {
    this.#entries = new TenantEntries({
      connection,
      keyOf: (tenant) => `${keyPrefix}webhooks:${tenant}`,
      most: mostEndpoints,
      parse: parseEndpoint,
    });
  }

  /** The newest first. */
  async list(tenant: string): Promise<KnownEndpoint[]> {
    return (await this.#entries.list(tenant, (endpoint) => endpoint))
      .map(({ id, value }) => ({ id, endpoint: value }))
      .toSorted(
        (one, other) => other.endpoint.createdAt - one.endpoint.createdAt || (one.id < other.id ? 1 : -1),
      );
  }

  async get(tenant: string, id: string): Promise<KnownEndpoint | undefined> {
    const found = await this.#entries.get(tenant, id);
    return found && { id, endpoint: found.value };
  }

  /** Returns false, having stored nothing, when the tenant has as many as it may. */
  add(tenant: string, id: string, endpoint: StoredEndpoint): Promise<boolean> {
    return this.#entries.add(tenant, id, endpoint);
  }

  /** Changes an endpoint by a rule, or removes it; see `TenantEntries.change`. */
  change(
    tenant: string,
    id: string,
    rule: (endpoint: StoredEndpoint) => StoredEndpoint | undefined,
  ): Promise<StoredEndpoint | undefined> {
    return this.#entries.change(tenant, id, rule);
  }
}
