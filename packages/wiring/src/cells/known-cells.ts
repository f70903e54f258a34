import type { Settings } from '@sluice/config';
import { FatalError, loggedError, type Logger, pause, untilRedisTakes } from '@sluice/runtime';
import type { Redis } from 'ioredis';

/** How old a note may be of a process with one cell, in milliseconds, and of one with several. */
const noteEveryMs = { one: 60_000, several: 1_500 };

/** How often a process looks whether its note is old, in milliseconds. */
const lookEveryMs = 2_000;

/** How long a process may take to read the note of another one, in milliseconds. */
const tellingMs = 1_000;

/** Begins the note of a cell that takes no new responses, but for those that continue one of its own. */
const usedMark = '~';

/** A response may wait, run and be kept this much longer than the settings say, in milliseconds. */
const slackMs = 3_600_000;

export interface KnownCellsOptions {
  /** To the first cell. */
  connection: Pick<Redis, 'hgetall' | 'hset' | 'hdel' | 'time'>;
  /** Starts the keys of the first cell. */
  keyPrefix: string;
  cells: {
    /** The names of all that this process has addresses of. */
    names: () => readonly string[];
    /** The names of those that take new responses, and the sets of those that will. */
    open: () => readonly string[];
    coming: () => readonly (readonly string[])[];
  };
  settings: Pick<Settings, 'retention' | 'timeouts'>;
  logger: Logger;
}

/** A cell that takes new responses, or did. */
export interface KnownCell {
  name: string;
  /** When it last took a response or could have, in milliseconds of the store's clock. */
  openAt: number;
  /** Until when responses may live in it, if it takes none since. */
  goneAt: number;
}

/**
 * The cells in which responses of a service may be. Each process notes in the first cell which cells take new responses, with the time.
 *
 * So a process does not start without a cell in which responses still live, and a tenant whose home has changed is also looked for where it was.
 */
export class KnownCells {
  readonly #options: KnownCellsOptions;
  readonly #key: string;
  /** The sets of cells that processes have noted as those that take new responses, this one among them. */
  #noted: readonly (readonly string[])[] = [];
  /** Cells that drain and have taken a response that continues one of their own, and when that was noted. */
  readonly #used = new Map<string, number>();
  #renewAt = Number.NEGATIVE_INFINITY;
  /** The cells of the last note of this process. */
  #lastNoted: string | undefined;
  #isKnown = false;

  constructor(options: KnownCellsOptions) {
    this.#options = options;
    this.#key = `${options.keyPrefix}cells`;
  }

  /**
   * The sets of cells that took new responses before, as long as an Idempotency-Key of then may come again, and those that will: another process may
   * find a moment earlier that it is time.
   */
  get former(): readonly (readonly string[])[] {
    const open = this.#open;
    const others = [...this.#noted, ...this.#options.cells.coming()];
    return others.filter((names) => names.toSorted().join('') !== open);
  }

  /** The names of the cells that take new responses, one letter each. */
  get #open(): string {
    return this.#options.cells.open().toSorted().join('');
  }

  /** Whether the notes were read, so that `former` is all there is. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /**
   * Notes the cells of this process. The first process with other cells waits until all others know of them, so that a request that is sent again to
   * one of these finds what it has begun.
   *
   * @throws {FatalError} when the addresses lack a cell in which responses may live.
   */
  async start(signal: AbortSignal): Promise<void> {
    await untilRedisTakes(() => this.#mustHaveAll(), signal);
    let isNews = false;
    await untilRedisTakes(async () => {
      isNews = (await this.#isNews()) || isNews;
      await this.#note();
    }, signal);
    if (isNews) await pause(lookEveryMs + tellingMs, signal);
    this.#isKnown = true;
  }

  /** Notes the cells again if the last note is old, or says something else. */
  async renew(): Promise<void> {
    if (performance.now() >= this.#renewAt || this.#open !== this.#lastNoted) await this.#note();
  }

  /** A cell that drains takes a response that continues one of its own: it stays needed for as long as that may be there. */
  use(cell: string): void {
    const noted = this.#used.get(cell) ?? Number.NEGATIVE_INFINITY;
    if (performance.now() - noted < noteEveryMs.one) return;
    this.#used.set(cell, performance.now());
    const { connection, logger } = this.#options;
    const note = async () => {
      const [seconds] = await connection.time();
      await connection.hset(this.#key, `${usedMark}${cell}`, this.#value(Number(seconds) * 1_000));
    };
    note().catch((error: unknown) => {
      this.#used.delete(cell);
      logger.warn({ cell, err: loggedError(error) }, 'use of a draining cell not noted');
    });
  }

  /** The cells in which responses may be, by the notes. */
  async read(): Promise<KnownCell[]> {
    return this.#cellsOf((await this.#sets()).sets);
  }

  #cellsOf(sets: readonly Note[]): KnownCell[] {
    const latest = new Map<string, KnownCell>();
    for (const { names: open, at, lifeMs } of sets)
      for (const name of open) {
        const { openAt = 0, goneAt = 0 } = latest.get(name) ?? {};
        latest.set(name, { name, openAt: Math.max(at, openAt), goneAt: Math.max(at + lifeMs, goneAt) });
      }
    return [...latest.values()];
  }

  /** Says that a cell is gone, with all that was in it. False when no cell of the name is known. */
  async forget(name: string): Promise<boolean> {
    const { connection } = this.#options;
    const { sets } = await this.#sets();
    const having = sets.filter(({ names }) => names.includes(name));
    for (const { field, names, isOpen, at, lifeMs } of having) {
      const others = names.filter((each) => each !== name).join('');
      const known = sets.find((each) => each.field === others)?.at ?? 0;
      if (isOpen && others !== '')
        await connection.hset(this.#key, others, this.#value(Math.max(at, known), lifeMs));
      await connection.hdel(this.#key, field);
    }
    return having.length > 0;
  }

  /** The notes: sets of cells that took new responses together, and cells that took some while they drained. */
  async #sets(): Promise<{ sets: Note[]; now: number }> {
    const { connection } = this.#options;
    const [noted, [seconds]] = await Promise.all([connection.hgetall(this.#key), connection.time()]);
    const ownMs = longestLifeMs(this.#options.settings);
    const sets = Object.entries(noted).map(([field, value]): Note => {
      const isOpen = !field.startsWith(usedMark);
      const [at = 0, lifeMs = 0] = value.split(' ').map(Number);
      // A process of other settings may keep responses longer.
      return {
        field,
        isOpen,
        names: Array.from(isOpen ? field : field.slice(1)),
        at,
        lifeMs: Math.max(lifeMs, ownMs),
      };
    });
    return { sets, now: Number(seconds) * 1_000 };
  }

  /** A note: a time, and how long a response may be there after it, in milliseconds. */
  #value(at: number, lifeMs = longestLifeMs(this.#options.settings)): string {
    return `${at} ${lifeMs}`;
  }

  /** Whether other sets of cells are noted, and not yet that of this process. */
  async #isNews(): Promise<boolean> {
    const { sets, now } = await this.#sets();
    const recent = sets.filter(({ isOpen, at }) => isOpen && now - at < noteEveryMs.one * 2);
    return recent.length > 0 && !recent.some(({ field }) => field === this.#open);
  }

  async #note(): Promise<void> {
    const { connection, settings, cells } = this.#options;
    const { sets, now } = await this.#sets();
    const gone = sets.filter(({ at, lifeMs }) => now - at > lifeMs).map(({ field }) => field);
    // The last note of a set may be as old as one becomes.
    const askedForMs = settings.retention.idempotencySeconds * 1_000 + noteEveryMs.one;
    const open = this.#open;
    const noted = sets.filter(({ isOpen, at }) => isOpen && now - at <= askedForMs);
    this.#noted = [...noted.map(({ names }) => names), Array.from(open)];
    if (gone.length > 0) await connection.hdel(this.#key, ...gone);
    await connection.hset(this.#key, open, this.#value(now));
    this.#lastNoted = open;
    const { one, several } = noteEveryMs;
    this.#renewAt = performance.now() + (cells.names().length === 1 ? one : several);
  }

  async #mustHaveAll(): Promise<void> {
    const names = this.#options.cells.names();
    const { sets, now } = await this.#sets();
    const known = this.#cellsOf(sets);
    const leftMs = ({ goneAt }: KnownCell) => goneAt - now;
    const missing = known.find((each) => leftMs(each) > 0 && !names.includes(each.name));
    if (!missing) return;
    const hours = Math.ceil(leftMs(missing) / 3_600_000);
    throw new FatalError(
      `REDIS_URL does not name the cell '${missing.name}' any more, and responses may live there for another ${hours} h: ` +
        `put its address back with the parameter 'drain', so that it takes no new ones, or say that it is gone with 'sluice cells forget ${missing.name}'.`,
      { exitCode: 2 },
    );
  }
}

/** What is noted of some cells. */
interface Note {
  field: string;
  names: string[];
  /** Whether they took new responses. */
  isOpen: boolean;
  /** In milliseconds of the store's clock. */
  at: number;
  /** How long after that a response may be there, in milliseconds. */
  lifeMs: number;
}

/** How long after its acceptance a response may be there. */
function longestLifeMs({ retention, timeouts }: Pick<Settings, 'retention' | 'timeouts'>): number {
  const queueMs = Math.max(timeouts.queueMs, timeouts.backgroundQueueMs);
  const keptSeconds = Math.max(retention.responseSeconds, retention.idempotencySeconds);
  return queueMs + timeouts.totalMs + keptSeconds * 1_000 + slackMs;
}
