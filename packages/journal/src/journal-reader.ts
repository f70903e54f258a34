import type { Redis } from 'ioredis';
import { journalKey } from './journal-writer.ts';

/** An entry as it stands in the stream. */
export interface StoredEntry {
  /** Its place: entries are in the order of their ids. */
  id: string;
  text: string;
}

/** Reads the journal of a cell in pages. */
export class JournalReader {
  readonly #connection: Pick<Redis, 'xrange' | 'xrevrange' | 'xlen'>;
  readonly #key: string;

  constructor({
    connection,
    keyPrefix,
  }: {
    connection: Pick<Redis, 'xrange' | 'xrevrange' | 'xlen'>;
    keyPrefix: string;
  }) {
    this.#connection = connection;
    this.#key = journalKey(keyPrefix);
  }

  /** How many entries there are. */
  length(): Promise<number> {
    return this.#connection.xlen(this.#key);
  }

  /** Up to `count` entries before one, the newest first; without one, the last of all. */
  async before(id: string | undefined, count: number): Promise<StoredEntry[]> {
    const end = id === undefined ? '+' : `(${id}`;
    return (await this.#connection.xrevrange(this.#key, end, '-', 'COUNT', count)).map(entryOf);
  }

  /** Up to `count` entries behind one, the oldest first. */
  async after(id: string, count: number): Promise<StoredEntry[]> {
    return (await this.#connection.xrange(this.#key, `(${id}`, '+', 'COUNT', count)).map(entryOf);
  }
}

function entryOf([id, fields]: [id: string, fields: string[]]): StoredEntry {
  return { id, text: fields[1] ?? '' };
}
