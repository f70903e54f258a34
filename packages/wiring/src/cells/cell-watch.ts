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

/** How long what a process knows counts as current after a look, in milliseconds: less than a change takes to hold. */
const currentForMs = settleMs - lookEveryMs;

/** How long a start waits for a cell that was added, in milliseconds. */
const soonMs = 2_000;

/** A cell that was added opens this long after that at the earliest, in milliseconds: every process has looked since, and says what it has. */
const heardMs = 5_000;

interface JoinedCell {
  name: string;
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
  readonly #processId = randomUUID();
  readonly #stopping = new AbortController();
  /** Cells that were added and are connected with: whether they are reached. */
  readonly #joined = new Map<string, { cell: Cell; isReached: boolean; reached: Promise<void> }>();
  readonly #leaving = new Set<Promise<void>>();
  #snapshot: StoredCellsSnapshot | undefined;
  #following: Promise<void> = Promise.resolve();
  /** When the last look was over, in milliseconds of `performance.now`, and whether one is under way that began in time. */
  #triedAt = Number.NEGATIVE_INFINITY;
  #isWaiting = false;
  readonly #looks: RegularLook;

  constructor(options: CellWatchOptions<Cell>) {
    this.#options = options;
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
    await untilRedisTakes(() => this.look(), signal);
    const reached = [...this.#joined.values()].map((each) => each.reached);
    await startedWithin(soonMs, reached, () => undefined);
    await this.#options.known.start(signal);
    this.#looks.start();
    await this.#looks.look();
  }

  /**
   * Whether this process has tried a moment ago to hear of changes. One that stood still may have missed some that hold by now. One that the first cell
   * does not answer goes on with what it knows.
   */
  get isCurrent(): boolean {
    // A process that runs for a moment has looked when it began.
    if (this.#options.role === undefined) return true;
    return this.#isWaiting || performance.now() - this.#triedAt < currentForMs;
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
    // A store that was emptied tells nothing.
    if (version === undefined || version === this.#snapshot?.version) return;
    const snapshot = await stored.read();
    for (const [name, cell] of snapshot.cells) this.#join(name, cell);
    states.take(snapshot.cells);
    for (const name of snapshot.gone) this.#leave(name);
    this.#snapshot = snapshot;
  }

  /** Safe to call twice, or before `start`. */
  async stop(): Promise<void> {
    const { role, processes } = this.#options;
    this.#stopping.abort(new Error('the process stops'));
    await this.#looks.stop();
    await Promise.all(this.#leaving);
    if (role !== undefined) await processes.leave(this.#processId).catch(() => undefined);
  }

  async #lookRegularly(): Promise<void> {
    this.#isWaiting = this.isCurrent;
    try {
      await this.#look();
    } finally {
      this.#isWaiting = false;
      this.#triedAt = performance.now();
    }
  }

  async #look(): Promise<void> {
    const { known, processes, role, cells } = this.#options;
    await this.look();
    await known.renew();
    if (role === undefined) return;
    const reached = cells.all
      .map(({ name }) => name)
      .filter((name) => this.#joined.get(name)?.isReached ?? true);
    await processes.note(this.#processId, role, reached);
    await this.#openJoined();
  }

  #join(name: string, { url }: StoredCell): void {
    const { cells, connect, start, logger } = this.#options;
    if (url === undefined || cells.get(name)) return;
    const cell = connect({ name, url });
    cells.add(cell);
    const joined = { cell, isReached: false, reached: start(cell, this.#stopping.signal) };
    this.#joined.set(name, joined);
    joined.reached.then(
      () => (joined.isReached = true),
      (error: unknown) => {
        if (!this.#stopping.signal.aborted)
          logger.error({ cell: name, err: loggedError(error) }, 'a cell that was added cannot be used');
      },
    );
  }

  #leave(name: string): void {
    const { cells, stop, logger } = this.#options;
    const { cell } = this.#joined.get(name) ?? {};
    this.#joined.delete(name);
    if (!cell) return;
    const leaving = cells
      .remove(cell)
      .then(() => stop(cell))
      .catch((error: unknown) => logger.warn({ cell: name, err: loggedError(error) }, 'cell not left'))
      .finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }

  /** Opens what joins once every process has reached it. Whichever process sees that first does it, and the others change nothing. */
  async #openJoined(): Promise<void> {
    const { stored, processes, now, logger } = this.#options;
    const [name] =
      [...(this.#snapshot?.cells ?? [])].find(
        ([, { isJoining, from }]) => isJoining && now() - from >= heardMs,
      ) ?? [];
    if (name === undefined || !this.#snapshot) return;
    const all = await processes.read();
    if (all.some(({ cells }) => !cells.includes(name))) return;
    if (await stored.openJoined(this.#snapshot, name))
      logger.info({ cell: name }, 'cell open to new responses');
    await this.look();
  }
}
