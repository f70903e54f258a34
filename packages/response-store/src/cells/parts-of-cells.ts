import type { Cells } from './live-cells.ts';

interface Startable {
  start: () => void;
  stop: () => void | Promise<void>;
}

/** A part of a process in each cell of the store. A cell that joins while they run gets its part at once, and one that leaves loses it. */
export class PartsOfCells<Cell extends { name: string }, Part extends Startable> {
  readonly #parts = new Map<string, Part>();
  #isRunning = false;

  constructor(cells: Cells<Cell>, make: (cell: Cell) => Part) {
    cells.follow({
      join: (cell) => {
        const part = make(cell);
        this.#parts.set(cell.name, part);
        if (this.#isRunning) part.start();
      },
      leave: async ({ name }) => {
        const part = this.#parts.get(name);
        this.#parts.delete(name);
        await part?.stop();
      },
    });
  }

  get all(): Part[] {
    return [...this.#parts.values()];
  }

  in(cell: string): Part | undefined {
    return this.#parts.get(cell);
  }

  start(): void {
    this.#isRunning = true;
    for (const part of this.all) part.start();
  }

  /** Safe to call twice, or before `start`. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    await Promise.all(this.all.map(async (part) => part.stop()));
  }
}
