import { StoredRefusal } from '@sluice/config';
import {
  type EntriesConnection,
  nextCellName,
  parseRedisCells,
  type RedisCell,
  StoredEntries,
} from '@sluice/runtime';
import type { Redis } from 'ioredis';
import { isOpenAt, type StoredCell } from './cell-states.ts';

export interface StoredCellsSnapshot {
  version: string | undefined;
  cells: ReadonlyMap<string, StoredCell>;
  /** Those that were taken away. */
  gone: ReadonlyMap<string, StoredCell>;
}

/** How long after it is stored a change begins to hold, in milliseconds: every process has read it by then, also one that missed some reads. */
export const settleMs = 10_000;

/** How long a change may be on its way to the store, in milliseconds: others must read it long before it holds. */
const onItsWayMs = 2_000;

/** How long the name of a cell that was taken away is not given to another one, in milliseconds: by then every process has left it. */
const restMs = 60_000;

/** How often a change is tried again because another one came first. */
const mostTries = 10;

export interface StoredCellsOptions {
  /** To the first cell. */
  connection: EntriesConnection & Pick<Redis, 'info'>;
  /** Starts the keys of the first cell. */
  keyPrefix: string;
}

/**
 * The cells that operators have added, and those that they have drained or opened again, in the first cell. Each process follows them; see
 * `CellWatch`.
 */
export class StoredCells {
  readonly #entries: StoredEntries;
  readonly #connection: StoredCellsOptions['connection'];

  constructor({ connection, keyPrefix }: StoredCellsOptions) {
    this.#connection = connection;
    this.#entries = new StoredEntries({ connection, key: `${keyPrefix}stored-cells` });
  }

  version(): Promise<string | undefined> {
    return this.#entries.version();
  }

  /** For how long the server has run, at most, in milliseconds: it says so in whole seconds. Undefined when it does not say so. */
  async uptimeMs(): Promise<number | undefined> {
    const found = /^uptime_in_seconds:(\d+)/m.exec(await this.#connection.info('server'));
    return found ? (Number(found[1]) + 1) * 1_000 : undefined;
  }

  async read(): Promise<StoredCellsSnapshot> {
    const { version, entries } = await this.#entries.read();
    const all = [...entries].flatMap(([name, json]) => {
      const cell = parseStoredCell(name, json);
      return cell ? [[name, cell] as const] : [];
    });
    return {
      version,
      cells: new Map(all.filter(([, { isGone }]) => isGone !== true)),
      gone: new Map(all.filter(([, { isGone }]) => isGone)),
    };
  }

  /**
   * The cell of an address: with its name, or the next one that no cell has or has had.
   *
   * @throws {StoredRefusal} for an address that cannot be one.
   */
  async check(address: string, configured: readonly RedisCell[]): Promise<RedisCell> {
    const { cells, gone } = await this.read();
    const known = namesOf(cells, configured);
    const cell = readAddress(address, new Set([...known, ...gone.keys()]));
    mustBeFree(cell.name, { known, gone, now: await this.#entries.now() });
    return cell;
  }

  /**
   * Adds a cell. It takes no new responses until every process can reach it; then `openJoined` has it take some.
   *
   * @throws {StoredRefusal} when there is one of its name, or was a moment ago.
   */
  async add({ name, url }: RedisCell, configured: readonly RedisCell[]): Promise<void> {
    await this.#change((cells, now, gone) => {
      mustBeFree(name, { known: namesOf(cells, configured), gone, now });
      return [name, { url, isOpen: false, wasOpen: false, from: now, isJoining: true }];
    });
  }

  /** Has a cell that was added take new responses, unless it has changed since it was read. */
  async openJoined({ version, cells }: StoredCellsSnapshot, name: string): Promise<boolean> {
    const { url } = cells.get(name) ?? {};
    if (url === undefined) return false;
    const now = await this.#entries.now();
    const opened: StoredCell = { url, isOpen: true, wasOpen: false, from: now + settleMs };
    const entries = new Map([[name, JSON.stringify(opened)]]);
    return this.#entries.change({ from: { version }, entries, notAfter: now + onItsWayMs });
  }

  /**
   * Stores everything again in a store that was emptied, in the version that it had: processes that have read that have nothing to follow.
   *
   * @returns false, having changed nothing, when something is stored.
   */
  async putBack({ version, cells, gone }: StoredCellsSnapshot): Promise<boolean> {
    const entries = new Map([...cells, ...gone].map(([name, cell]) => [name, JSON.stringify(cell)]));
    if (entries.size === 0) return false;
    const notAfter = (await this.#entries.now()) + onItsWayMs;
    const change = { from: { version: undefined }, entries, notAfter };
    return this.#entries.change(version === undefined ? change : { ...change, version });
  }

  /**
   * Has a cell take no new responses, or take some again.
   *
   * @throws {StoredRefusal} for one that is not known or has another change before it, and for the last one that takes new responses.
   */
  async setOpen(name: string, isOpen: boolean, configured: readonly RedisCell[]): Promise<void> {
    await this.#change((cells, now, gone) => {
      if (!namesOf(cells, configured).has(name)) throw unknown(name);
      const found = configured.find((each) => each.name === name);
      const stored = cells.get(name);
      if (stored?.isJoining)
        throw refusedName(
          `is '${name}', which joins: it opens once every process can reach it, and 'remove' takes it away`,
        );
      if (found?.isDraining) {
        if (isOpen) throw refusedName(`is '${name}', which REDIS_URL drains: take \`drain\` away there`);
        return undefined;
      }
      // One that was taken away, and that REDIS_URL names, is closed.
      const isClosed = gone.has(name);
      const before = stored ?? { isOpen: !isClosed, wasOpen: !isClosed, from: 0 };
      if (before.isOpen === isOpen) return undefined;
      // A process that has not read this one yet would still carry out the one before.
      if (before.from > now)
        throw refusedName(
          `is '${name}', which is about to change: try again in ${Math.ceil((before.from - now) / 1_000)} s`,
        );
      if (!isOpen && isOnlyOpen(name, cells, configured))
        throw refusedName(`is '${name}', the only cell that takes new responses`);
      return [name, { ...before, isOpen, wasOpen: before.isOpen, from: now + settleMs }];
    });
  }

  /**
   * Takes a cell away that was added. Its responses are gone with it.
   *
   * @param isLost takes it away also while it takes new responses.
   * @throws {StoredRefusal} for one that is not known or takes new responses, and one of REDIS_URL.
   */
  async remove(name: string, configured: readonly RedisCell[], { isLost = false } = {}): Promise<void> {
    await this.#change((cells, now) => {
      const problem = removalProblem(name, { cells, now, configured, isLost });
      if (problem) throw problem;
      return [name, { isOpen: false, wasOpen: false, from: now, isGone: true }];
    });
  }

  /** @throws {StoredRefusal} when `remove` would. */
  async mustBeRemovable(name: string, configured: readonly RedisCell[]): Promise<void> {
    const { cells } = await this.read();
    const problem = removalProblem(name, {
      cells,
      now: await this.#entries.now(),
      configured,
      isLost: false,
    });
    if (problem) throw problem;
  }

  async #change(
    change: (
      cells: StoredCellsSnapshot['cells'],
      now: number,
      gone: StoredCellsSnapshot['gone'],
    ) => [string, StoredCell] | undefined,
  ): Promise<void> {
    for (let tried = 0; tried < mostTries; tried += 1) {
      const { version, cells, gone } = await this.read();
      const now = await this.#entries.now();
      const changed = change(cells, now, gone);
      if (!changed) return;
      const [name, cell] = changed;
      const entries = new Map([[name, JSON.stringify(cell)]]);
      if (await this.#entries.change({ from: { version }, entries, notAfter: now + onItsWayMs })) return;
    }
    throw new Error('the stored cells change all the time');
  }
}

/** What is stored of a cell; undefined for what no process of this release has written, which must not keep any from its start. */
function parseStoredCell(name: string, json: string): StoredCell | undefined {
  try {
    const cell = JSON.parse(json) as Partial<StoredCell> | null; // it is looked at
    if (!cell || typeof cell.isOpen !== 'boolean' || typeof cell.from !== 'number') return undefined;
    const { url, isOpen, from, wasOpen = false } = cell;
    if (url !== undefined && parseRedisCells(url)[0]?.name !== name) return undefined;
    return { ...cell, isOpen, wasOpen, from };
  } catch {
    return undefined;
  }
}

/** The names of the cells that there are. A change of a cell of REDIS_URL says nothing once no address names it. */
function namesOf(cells: StoredCellsSnapshot['cells'], configured: readonly RedisCell[]): Set<string> {
  const stored = [...cells].filter(([, { url }]) => url !== undefined).map(([name]) => name);
  return new Set([...configured.map(({ name }) => name), ...stored]);
}

function isOnlyOpen(
  name: string,
  cells: StoredCellsSnapshot['cells'],
  configured: readonly RedisCell[],
): boolean {
  const drained = new Set(configured.filter(({ isDraining }) => isDraining).map((each) => each.name));
  return [...namesOf(cells, configured)].every(
    (each) => each === name || drained.has(each) || cells.get(each)?.isOpen === false,
  );
}

/** @throws {StoredRefusal} when a name is not free for a cell that is added. */
function mustBeFree(
  name: string,
  { known, gone, now }: { known: ReadonlySet<string>; gone: StoredCellsSnapshot['gone']; now: number },
): void {
  if (known.has(name)) {
    const free = nextCellName(new Set([...known, ...gone.keys()])) ?? 'z';
    throw refused(
      `names the cell '${name}', which there is; give it a name of its own, such as \`cell=${free}\``,
    );
  }
  const restsMs = (gone.get(name)?.from ?? Number.NEGATIVE_INFINITY) + restMs - now;
  if (restsMs > 0)
    throw refused(
      `names the cell '${name}', which was taken away a moment ago; try again in ${Math.ceil(restsMs / 1_000)} s, or give it another name`,
    );
}

function removalProblem(
  name: string,
  {
    cells,
    now,
    configured,
    isLost,
  }: Pick<StoredCellsSnapshot, 'cells'> & {
    now: number;
    configured: readonly RedisCell[];
    isLost: boolean;
  },
): StoredRefusal | undefined {
  const stored = cells.get(name);
  if (configured.some((each) => each.name === name))
    return refusedName(`is '${name}', which REDIS_URL names: take its address out there`);
  if (!stored) return unknown(name);
  if (!isLost && (stored.isOpen || isOpenAt(stored, now)))
    return refusedName(`is '${name}', which takes new responses: drain it first`);
  return undefined;
}

function readAddress(address: string, known: ReadonlySet<string>): RedisCell {
  const url = URL.parse(address);
  if (url?.searchParams.has('cells') || url?.searchParams.has('drain'))
    throw refused('has `cells` or `drain`; give the address of one cell, as it would stand in REDIS_URL');
  if (url && !url.searchParams.has('cell')) url.searchParams.set('cell', nextCellName(known) ?? '');
  try {
    const [cell, ...more] = parseRedisCells(url?.href ?? address);
    if (!cell || more.length > 0) throw new RangeError('is not one address');
    return cell;
  } catch (error) {
    if (error instanceof RangeError) throw refused(error.message);
    throw error;
  }
}

function refused(message: string): StoredRefusal {
  return new StoredRefusal('invalid', [{ path: ['address'], message }]);
}

function refusedName(message: string): StoredRefusal {
  return new StoredRefusal('invalid', [{ path: ['cell'], message }]);
}

function unknown(name: string): StoredRefusal {
  return new StoredRefusal('unknown', [
    { path: ['cell'], message: `is '${name}', and there is no such cell` },
  ]);
}
