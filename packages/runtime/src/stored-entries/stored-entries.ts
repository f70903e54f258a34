import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { scanHash } from '../scan-hash.ts';

export type EntriesConnection = Pick<Redis, 'hget' | 'hscan' | 'eval' | 'time'>;

export interface StoredEntriesOptions {
  connection: EntriesConnection;
  /** The Redis key of the hash. */
  key: string;
}

/** All entries at one moment. */
export interface EntriesSnapshot {
  /** Undefined when nothing has ever been stored. It differs after each change, and says nothing of their order. */
  version: string | undefined;
  /** What is stored, by id. */
  entries: ReadonlyMap<string, string>;
}

export interface EntriesChange {
  /** What the change was made from. */
  from: Pick<EntriesSnapshot, 'version'>;
  /** What to store, by id; at least one. An empty text takes the entry away. */
  entries: ReadonlyMap<string, string>;
  /** When it comes too late and changes nothing, in milliseconds of the clock of Redis; never by default. */
  notAfter?: number;
  /** Other entries that the change depends on, and the version that they had. If they have changed, nothing is changed. */
  beside?: { entries: StoredEntries; version: string | undefined };
  /** The version that it makes. A call with the same one is the same change; by default it is a new one. */
  version?: string;
}

/** The field of the version. No entry can have this id. */
export const versionField = 'version';

/** How many entries one command reads, so that Redis is held up by none. */
const pageSize = 500;

/** How often the entries are read again because they changed meanwhile. */
const mostReadings = 20;

const script = readFileSync(new URL('../../src/stored-entries/change-entries.lua', import.meta.url), 'utf8');

/**
 * Entries of an operator in one Redis hash, which never expires, such as API keys, models and providers. It knows ids and texts, and nothing of what
 * the texts say.
 *
 * Changes are optimistic: one that was made from entries that are no longer the same changes nothing, so two operators cannot
 * lose each other's change.
 */
export class StoredEntries {
  readonly #connection: EntriesConnection;
  readonly #key: string;

  constructor({ connection, key }: StoredEntriesOptions) {
    this.#connection = connection;
    this.#key = key;
  }

  /** The version of the entries, for one short command; see `EntriesSnapshot`. */
  async version(): Promise<string | undefined> {
    return (await this.#connection.hget(this.#key, versionField)) ?? undefined;
  }

  /** Reads all entries as they were at one moment. */
  async read(): Promise<EntriesSnapshot> {
    for (let reading = 0; reading < mostReadings; reading += 1) {
      const version = await this.version();
      const entries = await this.#entries();
      if ((await this.version()) === version) return { version, entries };
    }
    throw new Error('the stored entries change all the time');
  }

  /**
   * Stores entries in one step.
   *
   * @returns false, having changed nothing, when they have changed since they were read, or it is too late.
   */
  async change({ from, entries, notAfter, beside, version = randomUUID() }: EntriesChange): Promise<boolean> {
    const keys = beside ? [this.#key, beside.entries.#key] : [this.#key];
    const versions = [
      from.version ?? '',
      version,
      String(notAfter ?? ''),
      ...(beside ? [beside.version ?? ''] : []),
    ];
    const written = [...entries].flat();
    const reply = await this.#connection.eval(script, keys.length, ...keys, ...versions, ...written);
    return reply === 1;
  }

  /** The time of Redis, in milliseconds since 1970. */
  async now(): Promise<number> {
    const [seconds, microseconds] = await this.#connection.time();
    return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  }

  async #entries(): Promise<Map<string, string>> {
    const entries = new Map<string, string>();
    for await (const page of scanHash(this.#connection, this.#key, pageSize)) {
      for (const [id, text] of page) entries.set(id, text);
    }
    entries.delete(versionField);
    return entries;
  }
}
