import { hostname } from 'node:os';
import type { Redis } from 'ioredis';

/** A process that was not heard of for this long counts as gone, in milliseconds. */
const aliveMs = 10_000;

/** The note of one that is gone is taken away after this long, in milliseconds. */
const forgetMs = 60_000;

export interface CellProcessesOptions {
  /** To the first cell. */
  connection: Pick<Redis, 'hgetall' | 'hset' | 'hdel' | 'pexpire'>;
  /** Starts the keys of the first cell. */
  keyPrefix: string;
  /** The clock of the first cell, in milliseconds. */
  now: () => number;
}

/** A process of the service, and the cells that it has reached. */
export interface CellProcess {
  role: string;
  host: string;
  pid: number;
  cells: string[];
}

interface Note extends CellProcess {
  at: number;
}

/** The notes of all processes about the cells that they have reached, in the first cell: what is added opens once all of them have it. */
export class CellProcesses {
  readonly #options: CellProcessesOptions;
  readonly #key: string;

  constructor(options: CellProcessesOptions) {
    this.#options = options;
    this.#key = `${options.keyPrefix}cell-processes`;
  }

  /** Notes that a process is there. */
  async note(processId: string, role: string, cells: readonly string[]): Promise<void> {
    const { connection, now } = this.#options;
    const note: Note = { role, host: hostname(), pid: process.pid, cells: [...cells], at: now() };
    await Promise.all([
      connection.hset(this.#key, processId, JSON.stringify(note)),
      connection.pexpire(this.#key, forgetMs),
    ]);
  }

  async leave(processId: string): Promise<void> {
    await this.#options.connection.hdel(this.#key, processId);
  }

  /** Takes away the notes of those that are gone. */
  async sweep(): Promise<void> {
    await this.read();
  }

  /** Those that were heard of in this time, in milliseconds; by default those that count as alive. */
  async read(withinMs = aliveMs): Promise<CellProcess[]> {
    const { connection, now } = this.#options;
    const noted = Object.entries(await connection.hgetall(this.#key)).map(([id, json]) => ({
      id,
      note: parseNote(json),
    }));
    const silentMs = ({ at }: Note) => Math.abs(now() - at);
    const gone = noted.filter(({ note }) => !note || silentMs(note) > forgetMs).map(({ id }) => id);
    if (gone.length > 0) await connection.hdel(this.#key, ...gone);
    return noted.flatMap(({ note }) => (note && silentMs(note) <= withinMs ? note : []));
  }
}

/** A note; undefined for what no process of this release has written. */
function parseNote(json: string): Note | undefined {
  try {
    const note = JSON.parse(json) as Partial<Record<keyof Note, unknown>> | null; // it is looked at
    if (!note || typeof note.at !== 'number' || !Array.isArray(note.cells)) return undefined;
    const { role, host, pid, cells, at } = note;
    return { role: String(role), host: String(host), pid: Number(pid), cells: cells.map(String), at };
  } catch {
    return undefined;
  }
}
