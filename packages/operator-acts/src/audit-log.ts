import { type AuditEntry, auditEntrySchema } from '@sluice/contract/admin';
import type { Redis } from 'ioredis';

export type AuditConnection = Pick<Redis, 'xadd' | 'xrevrange'>;

export interface AuditLogOptions {
  connection: AuditConnection;
  /** Starts every key of the cell. */
  keyPrefix: string;
  /** Entries that are kept, about; ten thousand by default. */
  most?: number;
}

/** An entry before Redis has given it its place and its time. */
export type NewAuditEntry = Omit<AuditEntry, 'id' | 'at'>;

export interface AuditPage {
  /** Newest first. */
  entries: AuditEntry[];
  /** For `before`; undefined on the last page. */
  next: string | undefined;
}

const defaultMost = 10_000;

/** Most characters of a target or a detail: a filter can be long, and ten thousand entries have to stay small. */
const longestText = 1_000;

/** The audit log: a stream that forgets its oldest entries. */
export class AuditLog {
  readonly #connection: AuditConnection;
  readonly #key: string;
  readonly #most: number;

  constructor({ connection, keyPrefix, most = defaultMost }: AuditLogOptions) {
    this.#connection = connection;
    this.#key = `${keyPrefix}audit`;
    this.#most = most;
  }

  /** Writes an entry, and gives it its place in the log and the time of Redis. Rejects when nobody knows that it is written. */
  async add(entry: NewAuditEntry): Promise<AuditEntry> {
    const kept = {
      ...entry,
      target: shortened(entry.target),
      detail: entry.detail && shortened(entry.detail),
    };
    const json = JSON.stringify(kept);
    const id = await this.#connection.xadd(this.#key, 'MAXLEN', '~', this.#most, '*', 'e', json);
    if (id === null) throw new Error('the audit log gave an entry no id');
    return { ...kept, id, at: timeOf(id) };
  }

  /** A page of entries, from the one before `before` on; from the newest without. */
  async page({ before, limit }: { before: string | undefined; limit: number }): Promise<AuditPage> {
    const end = before === undefined ? '+' : `(${before}`;
    const found = await this.#connection.xrevrange(this.#key, end, '-', 'COUNT', limit + 1);
    const page = found.slice(0, limit);
    return {
      entries: page.flatMap(([id, fields]) => readEntry(id, fields[1] ?? '')),
      next: found.length > limit ? page.at(-1)?.[0] : undefined,
    };
  }
}

/** None for what a later release wrote and this one cannot read. */
function readEntry(id: string, json: string): AuditEntry[] {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return [];
  }
  if (typeof value !== 'object' || value === null) return [];
  const { data } = auditEntrySchema.safeParse({ ...value, id, at: timeOf(id) });
  return data === undefined ? [] : [data];
}

/** An id of a stream begins with the milliseconds of the server's clock. */
function timeOf(id: string): number {
  return Number(id.slice(0, id.indexOf('-')));
}

function shortened(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText - 1)}…` : text;
}
