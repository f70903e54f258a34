import { createHash, randomUUID } from 'node:crypto';
import type { DiscoveringProvider } from '@sluice/config';
import type { Redis } from 'ioredis';

/** What is known of the models of an upstream. */
export interface KnownList {
  /** Its names of its models, as it listed them last. */
  models: readonly string[];
  /** When it listed them, in milliseconds by the store's clock; undefined if it never did. */
  listedAt?: number;
  /** Why it did not list them when it was asked last; absent when it did. */
  fault?: string;
}

export interface DiscoveredStoreOptions {
  connection: Pick<Redis, 'get' | 'hgetall' | 'multi' | 'set'>;
  /** Starts every key of the cell. */
  keyPrefix: string;
}

/** Most models of one upstream. The list of a vendor has some hundred. */
export const mostListed = 1_000;

/**
 * The models that upstreams list, as all processes of the service share them in Redis: one hash with a field for each provider,
 * and a version that changes with each write. One process asks an upstream, by a lease, and all read what it answered. So
 * they agree, an api needs no way to the upstreams, and a process that starts knows the models at once.
 */
export class DiscoveredStore {
  readonly #options: DiscoveredStoreOptions;
  readonly #lists: string;
  readonly #version: string;

  constructor(options: DiscoveredStoreOptions) {
    this.#options = options;
    this.#lists = `${options.keyPrefix}discovered`;
    this.#version = `${this.#lists}:version`;
  }

  /** Text that differs after each write; undefined when nothing was written yet. */
  async version(): Promise<string | undefined> {
    return (await this.#options.connection.get(this.#version)) ?? undefined;
  }

  /** Every list, by the id of its provider. One that cannot be read is left out. */
  async read(): Promise<Map<string, KnownList>> {
    const lists = new Map<string, KnownList>();
    for (const [provider, text] of Object.entries(await this.#options.connection.hgetall(this.#lists))) {
      const list = parseList(text);
      if (list) lists.set(provider, list);
    }
    return lists;
  }

  /** Replaces the list of a provider, and removes those of these others. */
  async write(provider: string, list: KnownList, outdated: readonly string[] = []): Promise<void> {
    const models = list.models.slice(0, mostListed);
    const change = this.#options.connection
      .multi()
      .hset(this.#lists, provider, JSON.stringify({ ...list, models }))
      .set(this.#version, randomUUID());
    if (outdated.length > 0) change.hdel(this.#lists, ...outdated);
    const replies = await change.exec();
    for (const [error] of replies ?? []) if (error) throw error;
  }

  /** Takes the right to ask an upstream, for this long in milliseconds; false while another process has it. */
  async mayAsk(provider: DiscoveringProvider, forMs: number): Promise<boolean> {
    return (await this.#options.connection.set(this.#askedKey(provider), '1', 'PX', forMs, 'NX')) === 'OK';
  }

  /** Lets the upstream be asked again after this time, in milliseconds. */
  async askAgainIn(provider: DiscoveringProvider, afterMs: number): Promise<void> {
    await this.#options.connection.set(this.#askedKey(provider), '1', 'PX', afterMs);
  }

  /** An upstream that gets another address is asked at once. Until it has answered, the models of the old one stay. */
  #askedKey({ id, baseUrl }: DiscoveringProvider): string {
    const address = createHash('sha256').update(baseUrl).digest('hex').slice(0, 16);
    return `${this.#lists}:asked:${id}:${address}`;
  }
}

function parseList(text: string): KnownList | undefined {
  try {
    const { models, listedAt, fault } = JSON.parse(text) as Partial<KnownList>;
    if (!Array.isArray(models)) return undefined;
    return {
      models: models.filter((each) => typeof each === 'string').slice(0, mostListed),
      ...(typeof listedAt === 'number' && { listedAt }),
      ...(typeof fault === 'string' && { fault }),
    };
  } catch {
    return undefined;
  }
}
