import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

export type KeyConnection = Pick<Redis, 'hget' | 'hscan' | 'eval' | 'time'>;

export interface KeyStoreOptions {
  connection: KeyConnection;
  /** Starts every key of the cell. */
  keyPrefix: string;
}

/** All stored keys at one moment. */
export interface KeySnapshot {
  /** Undefined when no key has ever been stored. It differs after each change, and says nothing of their order. */
  version: string | undefined;
  /** What is stored of each key, by its id. */
  entries: ReadonlyMap<string, string>;
}

export interface KeyChange {
  /** What the change was made from. */
  from: Pick<KeySnapshot, 'version'>;
  /** What to store, by id; at least one. */
  entries: ReadonlyMap<string, string>;
  /** The version that it makes. A call with the same one is the same change; by default it is a new one. */
  version?: string;
}

const versionField = 'version';

/** How many keys one command reads, so that Redis is held up by none. */
const pageSize = 500;

/** How often the keys are read again because they changed meanwhile. */
const mostReadings = 20;

const script = readFileSync(new URL('../../src/stored/change-keys.lua', import.meta.url), 'utf8');

/**
 * API keys in one Redis hash, which never expires. It knows ids and texts, and nothing of what the texts say.
 *
 * Changes are optimistic: one that was made from keys that are no longer the same changes nothing, so two operators
 * cannot lose each other's change.
 */
export class KeyStore {
  readonly #connection: KeyConnection;
  readonly #key: string;

  constructor({ connection, keyPrefix }: KeyStoreOptions) {
    this.#connection = connection;
    this.#key = `${keyPrefix}api-keys`;
  }

  /** The version of the keys, for one short command; see `KeySnapshot`. */
  async version(): Promise<string | undefined> {
    return (await this.#connection.hget(this.#key, versionField)) ?? undefined;
  }

  /** Reads all keys as they were at one moment. */
  async read(): Promise<KeySnapshot> {
    for (let reading = 0; reading < mostReadings; reading += 1) {
      const version = await this.version();
      const entries = await this.#entries();
      if ((await this.version()) === version) return { version, entries };
    }
    throw new Error('the stored keys change all the time');
  }

  /**
   * Stores entries in one step.
   *
   * @returns false, having changed nothing, when the keys have changed since they were read.
   */
  async change({ from, entries, version = randomUUID() }: KeyChange): Promise<boolean> {
    const written = [...entries].flat();
    const reply = await this.#connection.eval(script, 1, this.#key, from.version ?? '', version, ...written);
    return reply === 1;
  }

  /** The time of Redis, in milliseconds since 1970. */
  async now(): Promise<number> {
    const [seconds, microseconds] = await this.#connection.time();
    return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  }

  async #entries(): Promise<Map<string, string>> {
    const entries = new Map<string, string>();
    let cursor = '0';
    do {
      const [next, page] = await this.#connection.hscan(this.#key, cursor, 'COUNT', pageSize);
      for (let at = 0; at + 1 < page.length; at += 2) entries.set(page[at] ?? '', page[at + 1] ?? '');
      cursor = next;
    } while (cursor !== '0');
    entries.delete(versionField);
    return entries;
  }
}
