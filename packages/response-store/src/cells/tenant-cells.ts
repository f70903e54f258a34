import { ServiceError } from '@sluice/contract';
import type { GivenLimits } from '@sluice/contract/tenant-limits';
import { type Cell, homeCell, preferredCells } from '../record/cells.ts';
import { cellCountOf, type Part } from './parts-of-limits.ts';

/** A number of cells that the keys of a tenant go by, or went by. */
export interface NotedCellCount {
  cells: number;
  /** How long ago it began to hold, in milliseconds; below zero before it does. */
  holdsSinceMs: number;
}

/** How many cells tenants were divided among, as every process has noted it. A tenant that was always in one has no notes. */
export interface CellCountNotes {
  /** The numbers of a tenant, as long as an Idempotency-Key of then may come again. */
  of: (tenant: string) => readonly NotedCellCount[];
  /** Notes the number that a tenant is to have. It holds when every process knows of it. Never rejects. */
  note: (tenant: string, cells: number) => Promise<void>;
  /** How long an Idempotency-Key may come again, in milliseconds. */
  keyMs: number;
}

/** The cells that take new responses, and those that did until now. */
export interface CellsInUse {
  open: readonly Cell[];
  /** The sets of cells that took new responses before, as long as what they took may be asked for. */
  former: () => readonly (readonly Cell[])[];
  /** Whether all cells are known, so that a response of another one is nowhere. */
  knowsAll: () => boolean;
  /** Whether a cell was added and has nothing yet: not every process can reach it. */
  isJoining: (cell: Cell) => boolean;
  /** Whether those are known, and the numbers of cells of tenants: they are read from the first cell. */
  areFormerKnown: () => boolean;
  cellCounts: CellCountNotes;
  /** Told of a cell that drains and is to take a response that continues one of its own. */
  onUse: (cell: Cell) => void;
}

/** How long a cell that did not answer is left alone while there are others, in milliseconds. */
const asideMs = 1_000;

type Limits = Readonly<GivenLimits>;

type TenantCellsInUse = Omit<CellsInUse, 'onUse' | 'knowsAll' | 'isJoining'>;

/** The cells of tenants: the first that a tenant prefers, as many as its limits say. */
export class TenantCells {
  readonly #cells: TenantCellsInUse;
  readonly #now: () => number;
  /** Where the last response of a tenant of several cells went. */
  readonly #turns = new Map<string, number>();
  /** Until when nothing is to be had from a cell, or by a tenant there. */
  readonly #aside = new Map<string, number>();

  constructor(cells: TenantCellsInUse, now = () => performance.now()) {
    this.#cells = cells;
    this.#now = now;
  }

  /** The cells of a tenant, its home first. */
  of(tenant: string, limits: Limits): Cell[] {
    const { open } = this.#cells;
    const count = cellCountOf(limits, open.length);
    return count === 1 ? [homeCell(tenant, open)] : firstCells(tenant, open, count);
  }

  /** The part of the limits of a tenant that holds in a cell. A conversation that goes on in a former cell has the smallest there. */
  partIn(cell: Cell, tenant: string, limits: Limits): Part {
    const cells = this.of(tenant, limits);
    const at = cells.indexOf(cell);
    return { at: at === -1 ? cells.length - 1 : at, of: cells.length };
  }

  /**
   * The cells of a tenant in the order in which a new response asks for room: in turn, without those where there is none. When there is none anywhere,
   * the one alone that has some first.
   */
  inTurn(tenant: string, limits: Limits): Cell[] {
    const cells = this.of(tenant, limits);
    if (cells.length === 1) return cells;
    const turn = ((this.#turns.get(tenant) ?? -1) + 1) % cells.length;
    this.#turns.set(tenant, turn);
    const order = [...cells.slice(turn), ...cells.slice(0, turn)];
    const now = this.#now();
    const free = order.filter((cell) => this.#asideUntil(cell, tenant) <= now);
    const until = (cell: Cell) => this.#asideUntil(cell, tenant);
    return free.length > 0 ? free : order.toSorted((one, other) => until(one) - until(other)).slice(0, 1);
  }

  /** A cell did not answer. */
  notAnswered(cell: Cell): void {
    this.#aside.set(cell, this.#now() + asideMs);
  }

  /** A tenant finds no room in a cell, for so long. */
  usedUp(cell: Cell, tenant: string, forMs: number): void {
    this.#aside.set(`${cell} ${tenant}`, this.#now() + forMs);
  }

  /**
   * The cell of an Idempotency-Key of a tenant, and those in which it may stand for a response from before the cells or their number changed. The number
   * is the one that is noted, whatever the settings of this process say, so that all processes go by the same.
   *
   * @throws {ServiceError} while nobody knows where it may stand for one.
   */
  async ofKey(tenant: string, key: string, limits: Limits): Promise<{ cell: Cell; former: Cell[] }> {
    const { open, cellCounts } = this.#cells;
    this.#requireFormer();
    const present = cellCountOf(limits, open.length);
    if (present > 1 || cellCounts.of(tenant).length > 0) await cellCounts.note(tenant, present);
    return this.#cellsOfKey(tenant, key);
  }

  /**
   * All cells in which an Idempotency-Key of a tenant may stand for a response. Notes nothing, as it is for who begins no response.
   *
   * @throws {ServiceError} while nobody knows them.
   */
  allOfKey(tenant: string, key: string): Cell[] {
    this.#requireFormer();
    const { cell, former } = this.#cellsOfKey(tenant, key);
    return [...former, cell];
  }

  #requireFormer(): void {
    if (this.#cells.areFormerKnown()) return;
    throw new ServiceError(
      'server_is_overloaded',
      'The server cannot take requests with an Idempotency-Key at the moment.',
    );
  }

  #cellsOfKey(tenant: string, key: string): { cell: Cell; former: Cell[] } {
    const { open, former } = this.#cells;
    const { count, others: before } = this.#countsOf(tenant);
    const of = (cells: readonly Cell[], most: number) =>
      most === 1 ? homeCell(tenant, cells) : homeCell(`${tenant}:${key}`, firstCells(tenant, cells, most));
    const cell = of(open, count);
    const others = new Set([open, ...former()].flatMap((cells) => before.map((most) => of(cells, most))));
    others.delete(cell);
    return { cell, former: [...others] };
  }

  /** The number of cells that the keys of a tenant go by now, and all numbers that they may have gone by. */
  #countsOf(tenant: string): { count: number; others: number[] } {
    const { cellCounts } = this.#cells;
    const noted = cellCounts.of(tenant);
    const holding = noted.filter(({ holdsSinceMs }) => holdsSinceMs >= 0);
    const [latest] = holding.toSorted((one, other) => one.holdsSinceMs - other.holdsSinceMs);
    const others = noted.map(({ cells }) => cells);
    // A tenant was in one cell before its first note.
    if (!holding.some(({ holdsSinceMs }) => holdsSinceMs > cellCounts.keyMs)) others.push(1);
    return { count: latest?.cells ?? 1, others };
  }

  #asideUntil(cell: Cell, tenant: string): number {
    return Math.max(this.#aside.get(cell) ?? 0, this.#aside.get(`${cell} ${tenant}`) ?? 0);
  }
}

function firstCells(tenant: string, cells: readonly Cell[], count: number): Cell[] {
  return preferredCells(tenant, cells).slice(0, count);
}
