import type { Settings } from '@sluice/config';
import type { CellCountNotes, NotedCellCount } from '@sluice/response-store';
import { RegularLook } from '@sluice/queue';
import { type Logger, throttledWarning } from '@sluice/runtime';
import type { Redis } from 'ioredis';

/** How often the notes of all processes are read, in milliseconds. */
const readEveryMs = 2_000;

/** How long a process may take to read a note that another one has just written, in milliseconds. */
const tellingMs = 3_000;

/** How often a process renews a note, in milliseconds. */
const noteEveryMs = 60_000;

export interface StoredCellCountsOptions {
  /** To the first cell. */
  connection: Pick<Redis, 'hgetall' | 'hset' | 'hdel' | 'time'>;
  /** Starts the keys of the first cell. */
  keyPrefix: string;
  settings: Pick<Settings, 'retention'>;
  logger: Logger;
}

/** A note as it is read: what was noted of a tenant, and the time of the store when it began and was last so, in milliseconds. */
interface Note {
  cells: number;
  since: number;
  until: number;
}

/**
 * The notes of all processes about how many cells a tenant is divided among, in the first cell: a hash whose fields are a number of cells and the
 * name of a tenant, and whose values are when that began and when it was last so.
 *
 * So a request that is sent again with its Idempotency-Key is found where it was, after the number has changed.
 */
export class StoredCellCounts implements CellCountNotes {
  readonly tellingMs = tellingMs;
  readonly keyMs: number;
  readonly #options: StoredCellCountsOptions;
  readonly #key: string;
  readonly #warn: (error: unknown) => void;
  #notes = new Map<string, Note[]>();
  /** The time of the store at the last read, and that of this process, in milliseconds. */
  #readAt = { store: 0, here: performance.now() };
  /** The last number that was noted of a tenant by this process, and when. */
  readonly #noted = new Map<string, { cells: number; at: number }>();
  readonly #looks = new RegularLook(
    () => this.#read().catch((error: unknown) => this.#warn(error)),
    readEveryMs,
  );

  constructor(options: StoredCellCountsOptions) {
    this.#options = options;
    this.#key = `${options.keyPrefix}cell-counts`;
    this.keyMs = options.settings.retention.idempotencySeconds * 1_000;
    this.#warn = throttledWarning(options.logger, 'numbers of cells of tenants not noted').warn;
  }

  /** Resolves when the notes are known, or could not be read. */
  async start(): Promise<void> {
    this.#looks.start();
    await this.#looks.look();
  }

  /** Safe to call twice, or before `start`. */
  stop(): Promise<void> {
    return this.#looks.stop();
  }

  of(tenant: string): readonly NotedCellCount[] {
    const notes = this.#notes.get(tenant);
    if (!notes) return [];
    const now = this.#readAt.store + performance.now() - this.#readAt.here;
    return notes.map(({ cells, since, until }) => ({ cells, sinceMs: now - since, untilMs: now - until }));
  }

  /** Notes the number that holds for a tenant. Never rejects: a number that could not be noted is not used yet. */
  async note(tenant: string, cells: number): Promise<void> {
    const last = this.#noted.get(tenant);
    const now = performance.now();
    if (last?.cells === cells && now - last.at < noteEveryMs) return;
    this.#noted.set(tenant, { cells, at: now });
    try {
      await this.#write(tenant, cells);
    } catch (error) {
      this.#noted.delete(tenant);
      this.#warn(error);
    }
  }

  async #write(tenant: string, cells: number): Promise<void> {
    const { connection } = this.#options;
    await this.#read();
    const known = this.#notes.get(tenant) ?? [];
    const now = this.#readAt.store;
    const since = known.find((note) => note.cells === cells)?.since ?? now;
    await connection.hset(this.#key, `${cells} ${tenant}`, `${since} ${now}`);
    const others = known.filter((note) => note.cells !== cells);
    this.#notes.set(tenant, [...others, { cells, since, until: now }]);
  }

  async #read(): Promise<void> {
    const { connection } = this.#options;
    const [fields, [seconds]] = await Promise.all([connection.hgetall(this.#key), connection.time()]);
    const now = Number(seconds) * 1_000;
    const notes = new Map<string, Note[]>();
    const gone: string[] = [];
    for (const [field, value] of Object.entries(fields)) {
      const [count = '', ...words] = field.split(' ');
      const [since, until] = value.split(' ').map(Number);
      const note = { cells: Number(count), since: since ?? now, until: until ?? now };
      if (now - note.until > this.keyMs + noteEveryMs) gone.push(field);
      else {
        const tenant = words.join(' ');
        notes.set(tenant, [...(notes.get(tenant) ?? []), note]);
      }
    }
    if (gone.length > 0) await connection.hdel(this.#key, ...gone);
    this.#notes = notes;
    this.#readAt = { store: now, here: performance.now() };
  }
}
