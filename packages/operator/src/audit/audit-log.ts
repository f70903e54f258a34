import { readFileSync } from 'node:fs';
import { type AuditEntry, auditEntrySchema } from '@sluice/contract/admin';
import type { Redis } from 'ioredis';

export type AuditConnection = Pick<Redis, 'eval' | 'xrevrange'>;

export interface AuditLogOptions {
  connection: AuditConnection;
  /** Starts every key of the cell. */
  keyPrefix: string;
  /** Entries that are kept of each kind; two thousand by default. */
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

const defaultMost = 2_000;

/** Entries that are kept of all kinds together, about: there are fewer than twenty kinds. */
const mostOfAll = 40_000;

/** The kind of all that was refused: an act that nothing came of must not push out one that was done. */
const refusedKind = 'refused';

/** Most characters of a target or a detail: a filter can be long, and all entries have to stay small. */
const longestText = 1_000;

const addEntry = readFileSync(new URL('../../src/audit/add-audit-entry.lua', import.meta.url), 'utf8');

/**
 * The audit log: a stream that forgets the oldest entries of each kind. A kind is an action, or everything that was refused. Ten thousand
 * acts of one kind push out older acts of that kind, and no others.
 */
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
    const kind = entry.outcome === 'refused' ? refusedKind : entry.action;
    const keys = [this.#key, this.#listOf(kind), this.#listOf(entry.action)];
    const args = [JSON.stringify(kept), this.#most, entry.asked ?? '', mostOfAll];
    const id = String(await this.#connection.eval(addEntry, keys.length, ...keys, ...args));
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

  #listOf(kind: string): string {
    return `${this.#key}:${kind}`;
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
