import { randomUUID } from 'node:crypto';
import { RegularLook } from '@sluice/queue';
import { type LiveCells, startedWithin } from '@sluice/response-store';
import { loggedError, type Logger, throttledWarning, untilRedisTakes } from '@sluice/runtime';
import type { CellProcesses } from './cell-processes.ts';
import type { CellStates, StoredCell } from './cell-states.ts';
import type { KnownCells } from './known-cells.ts';
import { settleMs, type StoredCells, type StoredCellsSnapshot } from './stored-cells.ts';

/** How often the stored cells are looked at, in milliseconds. */
const lookEveryMs = 2_000;

/** How often a process takes the notes of processes that are gone away, in looks. */
const sweepEveryLooks = 30;

/** How long a process must have looked without a failure before it knows of all others, in milliseconds: each has said that it is there since. */
const hearsAllMs = 12_000;

/** How long a process that was not heard of keeps a cell from opening that it has not reached, in milliseconds. */
const lateMs = 30_000;

/** How long what a process knows counts as current after a look, in milliseconds: less than a change takes to hold. */
const currentForMs = settleMs - lookEveryMs;

/** How long a start waits for a cell that was added, in milliseconds. */
const soonMs = 2_000;

/** A cell that was added opens this long after that at the earliest, in milliseconds: every process has looked since, and says what it has. */
const heardMs = 5_000;

interface JoinedCell {
  name: string;
}

/** A cell that was added, as this process is connected with it. */
interface Joined<Cell> {
  cell: Cell;
  url: string;
  isReached: boolean;
  reached: Promise<void>;
}

export interface CellWatchOptions<Cell extends JoinedCell> {
  cells: LiveCells<Cell>;
  states: CellStates;
  stored: StoredCells;
  known: KnownCells;
  processes: CellProcesses;
  /** Connects this process with a cell, which is not used before it is among `cells`. */
  connect: (cell: { name: string; url: string }) => Cell;
  /** Resolves when the cell can be used, as long as that takes. */
  start: (cell: Cell, signal: AbortSignal) => Promise<void>;
  /** Ends what `start` began, and closes its connections. */
  stop: (cell: Cell) => Promise<void>;
  /** The clock of the first cell, in milliseconds. */
  now: () => number;
  /** A clock that does not jump, in milliseconds; `performance.now` by default. */
  monotonicNow?: () => number;
  /** The kind of this process; undefined for one that others need not wait for. */
  role: string | undefined;
  logger: Logger;
}

/**
 * Follows the cells that operators add, drain and remove, in a process that runs. An added cell is connected with at once, and takes new responses once
 * every process has reached it and has said so, at one time in all of them. So no process is asked about a response of a cell that it does not know.
 *
 * While the first cell is away, a process goes on with the cells that it has.
 */
export class CellWatch<Cell extends JoinedCell> {
  readonly #options: CellWatchOptions<Cell>;
  readonly #monotonicNow: () => number;
  readonly #processId = randomUUID();
  readonly #stopping = new AbortController();
  /** Cells that were added and are connected with: whether they are reached. */
  readonly #joined = new Map<string, Joined<Cell>>();
  /** Cells that are being left, by their names. */
  readonly #leaving = new Map<string, Promise<void>>();
  #snapshot: StoredCellsSnapshot | undefined;
  /** Whether what was read last is stored again when the store is emptied. */
  #mayPutBack = false;
  #following: Promise<void> = Promise.resolve();
  /** When the last look was over, in milliseconds of the clock that does not jump, and whether one is under way that began in time. */
  #triedAt = Number.NEGATIVE_INFINITY;
  #isWaiting = false;
  /** When the last look was over that read what is stored, and since when no look has failed. */
  #heardAt = Number.NEGATIVE_INFINITY;
  #hearsSince: number | undefined;
  /** Whether it stood still since then. */
  #hasPaused = false;
  #lookCount = 0;
  readonly #looks: RegularLook;

  constructor(options: CellWatchOptions<Cell>) {
    this.#options = options;
    this.#monotonicNow = options.monotonicNow ?? (() => performance.now());
    const { warn } = throttledWarning(options.logger, 'cells not followed, those known stay');
    this.#looks = new RegularLook(() => this.#lookRegularly().catch(warn), lookEveryMs);
  }

  /**
   * Joins the cells that were added before, and follows them from then on. Resolves when they are reached or a moment has passed, and all other
   * processes know of the cells of this one.
   *
   * @throws {FatalError} when the addresses lack a cell in which responses may live.
   */
  async start(signal: AbortSignal): Promise<void> {
    const { known } = this.#options;
    await this.#joinStored(signal);
    const read = this.#snapshot;
    try {
      await known.start(signal);
    } catch (error) {
      // Another process may have put back a moment ago what an emptied store had lost.
      await this.#joinStored(signal);
      if (this.#snapshot === read) throw error;
      await known.start(signal);
    }
    this.#looks.start();
    await this.#looks.look();
  }

  async #joinStored(signal: AbortSignal): Promise<void> {
    await untilRedisTakes(() => this.look(), signal);
    // One that cannot be used keeps no process from the others. Whoever joined it says so.
    const tried = Promise.allSettled([...this.#joined.values()].map((each) => each.reached));
    await startedWithin(soonMs, [tried.then(() => undefined)], () => undefined);
  }

  /**
   * Whether this process has tried a moment ago to hear of changes. One that stood still may have missed some that hold by now. One that the first cell
   * does not answer goes on with what it knows.
   */
  get isCurrent(): boolean {
    // A process that runs for a moment has looked when it began.
    if (this.#options.role === undefined) return true;
    return this.#isWaiting || this.#hasTriedLately;
  }

  /** Whether its last look was over a moment ago. */
  get #hasTriedLately(): boolean {
    return this.#monotonicNow() - this.#triedAt < currentForMs;
  }

  /** Whether this process has heard a moment ago which cells there are. */
  get knowsAll(): boolean {
    return this.#options.role === undefined || this.#monotonicNow() - this.#heardAt < currentForMs;
  }

  /** Reads what is stored, and puts it into effect. One at a time: an older reading must not be applied behind a newer one. */
  look(): Promise<void> {
    const follow = () => this.#follow();
    this.#following = this.#following.then(follow, follow);
    return this.#following;
  }

  async #follow(): Promise<void> {
    const { stored, states } = this.#options;
    const version = await stored.version();
    if (version === undefined) return this.#putBack();
    if (version === this.#snapshot?.version) return;
    const snapshot = await stored.read();
    this.#mayPutBack = true;
    for (const name of snapshot.gone.keys()) this.#leave(name);
    const joins = [...snapshot.cells].map(([name, cell]) => this.#join(name, cell));
    states.take(snapshot.cells, snapshot.gone);
    // What could not be joined yet is looked at again.
    this.#snapshot = joins.every(Boolean) ? snapshot : { ...snapshot, version: undefined };
  }

  /**
   * A store that was emptied tells nothing, and has what it had from a process that knew it a moment ago, or when its server ended: one that starts would
   * lack the addresses of cells in which responses are. One that stood still may have missed changes.
   */
  async #putBack(): Promise<void> {
    const { stored, role, logger } = this.#options;
    this.#mayPutBack &&= role !== undefined && (this.knowsAll || (await this.#knewFormerServer()));
    if (!this.#mayPutBack || !this.#snapshot || !(await stored.putBack(this.#snapshot))) return;
    const cells = [...this.#snapshot.cells.keys()];
    logger.warn({ cells }, 'the first cell was emptied: what it said of cells is stored again');
  }

  /** Whether the server is another one since the last look that was answered, and this process has tried all the time: the former one said no more. */
  async #knewFormerServer(): Promise<boolean> {
    const sinceMs = this.#monotonicNow() - this.#heardAt;
    if (this.#hasPaused || !this.#hasTriedLately) return false;
    return ((await this.#options.stored.uptimeMs()) ?? Number.POSITIVE_INFINITY) < sinceMs;
  }

  /** Safe to call twice, or before `start`. */
  async stop(): Promise<void> {
    const { role, processes } = this.#options;
    this.#stopping.abort(new Error('the process stops'));
    await this.#looks.stop();
    await Promise.all(this.#leaving.values());
    if (role !== undefined) await processes.leave(this.#processId).catch(() => undefined);
  }

  async #lookRegularly(): Promise<void> {
    this.#isWaiting = this.isCurrent;
    try {
      await this.#look();
      this.#hearsSince ??= this.#monotonicNow();
    } catch (error) {
      this.#hearsSince = undefined;
      if (!this.#hasTriedLately) this.#hasPaused = true;
      throw error;
    } finally {
      this.#isWaiting = false;
      this.#triedAt = this.#monotonicNow();
    }
  }

  async #look(): Promise<void> {
    const { known, processes, role, cells } = this.#options;
    // One that stood still begins anew, too.
    if (this.#monotonicNow() - this.#heardAt > currentForMs) this.#hearsSince = undefined;
    await this.look();
    this.#heardAt = this.#monotonicNow();
    this.#hasPaused = false;
    await known.renew();
    if (role === undefined) return;
    const reached = cells.all
      .map(({ name }) => name)
      // Those that were not added are those of REDIS_URL.
      .filter((name) => this.#joined.get(name)?.isReached ?? true);
    await processes.note(this.#processId, role, reached);
    for (const name of this.#joining()) await this.#openIfReached(name);
    if ((this.#lookCount += 1) % sweepEveryLooks === 0) await processes.sweep();
  }

  /** Joins a cell that was added. False when its name is that of one that is not left yet. */
  #join(name: string, { url }: StoredCell): boolean {
    const { cells, connect, start, logger, states } = this.#options;
    if (url === undefined || states.isConfigured(name)) return true;
    const before = this.#joined.get(name);
    if (before?.url === url) return true;
    // It was taken away and added again elsewhere between two looks.
    if (before) this.#leave(name);
    if (this.#leaving.has(name)) return false;
    const cell = connect({ name, url });
    const joined: Joined<Cell> = { cell, url, isReached: false, reached: Promise.resolve() };
    this.#joined.set(name, joined);
    try {
      cells.add(cell);
      joined.reached = start(cell, this.#stopping.signal);
    } catch (error) {
      joined.reached = Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
    joined.reached.then(
      () => (joined.isReached = true),
      (error: unknown) => {
        if (this.#joined.get(name) === joined && !this.#stopping.signal.aborted)
          logger.error({ cell: name, err: loggedError(error) }, 'a cell that was added cannot be used');
      },
    );
    return true;
  }

  #leave(name: string): void {
    const { cells, stop, logger } = this.#options;
    const { cell } = this.#joined.get(name) ?? {};
    this.#joined.delete(name);
    if (!cell) return;
    const leave = async () => {
      try {
        await cells.remove(cell);
      } finally {
        await stop(cell);
      }
    };
    const leaving = leave()
      .catch((error: unknown) =>
        logger.warn({ cell: name, err: loggedError(error) }, 'cell not left in order'),
      )
      .finally(() => this.#leaving.delete(name));
    this.#leaving.set(name, leaving);
  }

  /** The cells that may open, once every process has reached them. Nobody has heard of all processes before some time is over without a failure. */
  #joining(): string[] {
    const { now } = this.#options;
    if (this.#monotonicNow() - (this.#hearsSince ?? this.#monotonicNow()) < hearsAllMs) return [];
    return [...(this.#snapshot?.cells ?? [])]
      .filter(([, { isJoining, from }]) => isJoining && now() - from >= heardMs)
      .map(([name]) => name);
  }

  /** Opens a cell if every process has reached it. Whichever process sees that first does it, and the others change nothing. */
  async #openIfReached(name: string): Promise<void> {
    const { stored, processes, logger } = this.#options;
    // One that was heard of a while ago may only be late.
    const all = await processes.read(lateMs);
    if (!this.#snapshot || all.some(({ cells }) => !cells.includes(name))) return;
    if (await stored.openJoined(this.#snapshot, name))
      logger.info({ cell: name }, 'cell open to new responses');
    await this.look();
  }
}
