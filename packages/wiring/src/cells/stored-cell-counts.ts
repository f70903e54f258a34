import type { Settings } from '@sluice/config';
import { RegularLook } from '@sluice/queue';
import type { CellCountNotes, NotedCellCount } from '@sluice/response-store';
import { type Logger, throttledWarning } from '@sluice/runtime';
import type { Redis } from 'ioredis';

/** How often the notes of all processes are read, in milliseconds. */
const readEveryMs = 2_000;

/** How long after its note a number begins to hold, in milliseconds: every process has read the note by then, also one that missed some reads. */
const settleMs = 10_000;

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

/** A number of cells as it is noted, and the time of the store when it begins to hold, in milliseconds. */
interface Note {
  cells: number;
  from: number;
}

/**
 * The notes of all processes about how many cells a tenant is divided among, in the first cell: a hash whose fields are a number of cells and the
 * name of a tenant. A new number begins to hold at one time of the store for all processes, some seconds after its note.
 *
 * So a request that is sent again with its Idempotency-Key is found where it was, after the number has changed. A process that cannot read the notes
 * goes on with those it has.
 */
export class StoredCellCounts implements CellCountNotes {
  readonly keyMs: number;
  readonly #options: StoredCellCountsOptions;
  readonly #key: string;
  readonly #warn: (error: unknown) => void;
  #notes = new Map<string, Note[]>();
  #isKnown = false;
  /** The time of the store at the last read, and that of this process, in milliseconds. */
  #readAt = { store: 0, here: Number.NEGATIVE_INFINITY };
  /** The number that this process noted last of a tenant, and when. */
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

  /** Whether the notes were read. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  of(tenant: string): readonly NotedCellCount[] {
    const now = this.#now();
    return (this.#notes.get(tenant) ?? []).map(({ cells, from }) => ({ cells, holdsSinceMs: now - from }));
  }

  /** Reads the notes if the last read is long ago, and notes the number that a tenant has. Never rejects: a number that could not be noted does not hold. */
  async note(tenant: string, cells: number): Promise<void> {
    try {
      if (performance.now() - this.#readAt.here > 2 * readEveryMs) await this.#read();
      const last = this.#noted.get(tenant);
      // Where processes have other settings, each notes its own once a minute, and the last note holds.
      if (last?.cells === cells && performance.now() - last.at < noteEveryMs) return;
      this.#noted.set(tenant, { cells, at: performance.now() });
      await this.#write(tenant, cells);
    } catch (error) {
      this.#noted.delete(tenant);
      this.#warn(error);
    }
  }

  #now(): number {
    return this.#readAt.store + performance.now() - this.#readAt.here;
  }

  #latest(tenant: string): Note | undefined {
    return (this.#notes.get(tenant) ?? []).toSorted((one, other) => other.from - one.from)[0];
  }

  async #write(tenant: string, cells: number): Promise<void> {
    await this.#read();
    const now = this.#readAt.store;
    const latest = this.#latest(tenant);
    const from = latest?.cells === cells ? latest.from : now + settleMs;
    await this.#options.connection.hset(this.#key, `${cells} ${tenant}`, `${from} ${now}`);
    const others = (this.#notes.get(tenant) ?? []).filter((note) => note.cells !== cells);
    this.#notes.set(tenant, [...others, { cells, from }]);
  }

  async #read(): Promise<void> {
    const { connection } = this.#options;
    const [fields, [seconds, microseconds]] = await Promise.all([
      connection.hgetall(this.#key),
      connection.time(),
    ]);
    const here = performance.now();
    const now = Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
    const notes = new Map<string, Note[]>();
    const gone: string[] = [];
    for (const [field, value] of Object.entries(fields)) {
      const [count, ...words] = field.split(' ');
      const [from = now, until = now] = value.split(' ').map(Number);
      if (now - until > this.keyMs + 2 * noteEveryMs) {
        gone.push(field);
        continue;
      }
      const tenant = words.join(' ');
      notes.set(tenant, [...(notes.get(tenant) ?? []), { cells: Number(count), from }]);
    }
    if (gone.length > 0) await connection.hdel(this.#key, ...gone);
    this.#notes = notes;
    this.#readAt = { store: now, here };
    this.#isKnown = true;
  }
}
