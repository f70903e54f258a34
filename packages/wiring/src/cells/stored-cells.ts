import { StoredRefusal } from '@sluice/config';
import {
  type EntriesConnection,
  nextCellName,
  parseRedisCells,
  type RedisCell,
  StoredEntries,
} from '@sluice/runtime';
import { isOpenAt, type StoredCell } from './cell-states.ts';

export interface StoredCellsSnapshot {
  version: string | undefined;
  cells: ReadonlyMap<string, StoredCell>;
  /** The names of those that were taken away. */
  gone: ReadonlySet<string>;
}

/** How long after it is stored a change begins to hold, in milliseconds: every process has read it by then, also one that missed some reads. */
export const settleMs = 10_000;

/** How often a change is tried again because another one came first. */
const mostTries = 10;

export interface StoredCellsOptions {
  /** To the first cell. */
  connection: EntriesConnection;
  /** Starts the keys of the first cell. */
  keyPrefix: string;
}

/**
 * The cells that operators have added, and those that they have drained or opened again, in the first cell. Each process follows them; see
 * `CellWatch`.
 */
export class StoredCells {
  readonly #entries: StoredEntries;

  constructor({ connection, keyPrefix }: StoredCellsOptions) {
    this.#entries = new StoredEntries({ connection, key: `${keyPrefix}stored-cells` });
  }

  version(): Promise<string | undefined> {
    return this.#entries.version();
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
      gone: new Set(all.filter(([, { isGone }]) => isGone).map(([name]) => name)),
    };
  }

  /**
   * The cell of an address: with its name, or the next one that is free.
   *
   * @throws {StoredRefusal} for an address that cannot be one.
   */
  async check(address: string, configured: readonly RedisCell[]): Promise<RedisCell> {
    const { cells } = await this.read();
    const known = new Set([...configured.map(({ name }) => name), ...cells.keys()]);
    const cell = readAddress(address, known);
    if (known.has(cell.name)) throw taken(cell.name, known);
    return cell;
  }

  /**
   * Adds a cell. It takes no new responses until every process can reach it; then `openJoined` has it take some.
   *
   * @throws {StoredRefusal} when there is one of its name.
   */
  async add({ name, url }: RedisCell, configured: readonly RedisCell[]): Promise<void> {
    await this.#change((cells, now) => {
      const known = new Set([...configured.map((each) => each.name), ...cells.keys()]);
      if (known.has(name)) throw taken(name, known);
      return [name, { url, isOpen: false, wasOpen: false, from: now, isJoining: true }];
    });
  }

  /** Has a cell that was added take new responses, unless it has changed since it was read. */
  async openJoined({ version, cells }: StoredCellsSnapshot, name: string): Promise<boolean> {
    const { url } = cells.get(name) ?? {};
    if (url === undefined) return false;
    const from = (await this.#entries.now()) + settleMs;
    const opened: StoredCell = { url, isOpen: true, wasOpen: false, from };
    return this.#entries.change({ from: { version }, entries: new Map([[name, JSON.stringify(opened)]]) });
  }

  /**
   * Has a cell take no new responses, or take some again.
   *
   * @throws {StoredRefusal} for one that is not known, and for the last one that takes new responses.
   */
  async setOpen(name: string, isOpen: boolean, configured: readonly RedisCell[]): Promise<void> {
    await this.#change((cells, now) => {
      const found = configured.find((each) => each.name === name);
      const stored = cells.get(name);
      if (!found && !stored) throw unknown(name);
      if (stored?.isJoining)
        throw refusedName(
          `is '${name}', which joins: it opens once every process can reach it, and 'remove' takes it away`,
        );
      const before = stored ?? { isOpen: !found?.isDraining, wasOpen: !found?.isDraining, from: 0 };
      if (before.isOpen === isOpen) return undefined;
      const others = new Map(configured.map((each) => [each.name, !each.isDraining]));
      for (const [each, { isOpen: itself }] of cells) others.set(each, itself);
      others.delete(name);
      if (!isOpen && ![...others.values()].some(Boolean))
        throw refusedName(`is '${name}', the only cell that takes new responses`);
      return [name, { ...before, isOpen, wasOpen: isOpenAt(before, now), from: now + settleMs }];
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
    change: (cells: StoredCellsSnapshot['cells'], now: number) => [string, StoredCell] | undefined,
  ): Promise<void> {
    for (let tried = 0; tried < mostTries; tried += 1) {
      const { version, cells } = await this.read();
      const changed = change(cells, await this.#entries.now());
      if (!changed) return;
      const [name, cell] = changed;
      const entries = new Map([[name, JSON.stringify(cell)]]);
      if (await this.#entries.change({ from: { version }, entries })) return;
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

function taken(name: string, known: ReadonlySet<string>): StoredRefusal {
  return refused(
    `names the cell '${name}', which there is; give it a name of its own, such as \`cell=${nextCellName(known) ?? 'z'}\``,
  );
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
