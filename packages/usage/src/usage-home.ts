import type { Redis } from 'ioredis';
import type { UsageDatabase } from './usage-database.ts';

export interface UsageHomeOptions {
  connection: Pick<Redis, 'set' | 'get' | 'pexpire'>;
  /** Starts every key of the service. */
  keyPrefix: string;
  database: Pick<UsageDatabase, 'id'>;
  now?: () => number;
}

/** How long the store knows a database that nobody has used, in milliseconds: a week. */
const knownMs = 7 * 24 * 3_600_000;

/** How long it is not asked again, in milliseconds. */
const sureMs = 60_000;

/**
 * Knows whether the database of this process is the one that has the usage of the service: the store remembers the first that took some.
 * So sums are never split over the files of several machines, where nobody would notice.
 */
export class UsageHome {
  readonly #options: UsageHomeOptions;
  readonly #now: () => number;
  #sureUntil = Number.NEGATIVE_INFINITY;

  constructor(options: UsageHomeOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Makes it the database of the service if there is none. Rejects while the store or the database is away. */
  async isHere(): Promise<boolean> {
    if (this.#now() < this.#sureUntil) return true;
    const { connection, keyPrefix, database } = this.#options;
    const key = `${keyPrefix}usage:database`;
    const id = await database.id();
    const isFirst = (await connection.set(key, id, 'PX', knownMs, 'NX')) !== null;
    if (!isFirst && (await connection.get(key)) !== id) return false;
    if (!isFirst) await connection.pexpire(key, knownMs);
    this.#sureUntil = this.#now() + sureMs;
    return true;
  }
}
