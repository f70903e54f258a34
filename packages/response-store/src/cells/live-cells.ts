import { cellOf } from '../record/cells.ts';

/** Takes part in each cell that comes, and in none that has gone. */
export interface CellFollower<Cell> {
  join: (cell: Cell) => void;
  /** Resolves when nothing of the cell is used any more. */
  leave: (cell: Cell) => void | Promise<void>;
}

/** The cells of a process, as its parts see them. */
export type Cells<Cell extends { name: string }> = Pick<
  LiveCells<Cell>,
  'first' | 'all' | 'get' | 'of' | 'follow'
>;

/** The cells of the store that a process is connected with. Others may come and go while it runs; the first one stays. */
export class LiveCells<Cell extends { name: string }> {
  readonly first: Cell;
  #all: readonly Cell[];
  #byName: ReadonlyMap<string, Cell>;
  readonly #followers: CellFollower<Cell>[] = [];

  constructor(first: Cell, others: readonly Cell[]) {
    this.first = first;
    this.#all = [first, ...others];
    this.#byName = byName(this.#all);
  }

  /** All of them, the first one first. The list stays as it is; another one is there after a change. */
  get all(): readonly Cell[] {
    return this.#all;
  }

  get(name: string): Cell | undefined {
    return this.#byName.get(name);
  }

  /** The cell of a response; the first one for an id that names none. */
  of(responseId: string): Cell {
    return this.get(cellOf(responseId)) ?? this.first;
  }

  /** Has a follower join all cells, now and as they come. */
  follow(follower: CellFollower<Cell>): void {
    this.#followers.push(follower);
    for (const cell of this.#all) follower.join(cell);
  }

  add(cell: Cell): void {
    this.#change([...this.#all, cell]);
    for (const { join } of this.#followers) join(cell);
  }

  /** Resolves when no follower uses the cell any more, and rejects then with the first error of one. It cannot be the first cell. */
  async remove(cell: Cell): Promise<void> {
    if (cell === this.first) throw new RangeError('The first cell cannot go');
    this.#change(this.#all.filter((each) => each !== cell));
    // Those that came last use what the others have.
    const errors: unknown[] = [];
    for (const { leave } of this.#followers.toReversed()) {
      try {
        await leave(cell);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  #change(all: readonly Cell[]): void {
    this.#all = all;
    this.#byName = byName(all);
  }
}

function byName<Cell extends { name: string }>(all: readonly Cell[]): ReadonlyMap<string, Cell> {
  return new Map(all.map((cell) => [cell.name, cell]));
}
