import { type Cell, cellOf } from '@sluice/response-store';

/**
 * Prints and writes large answers one at a time in each cell: one that does not answer holds up no other.
 *
 * The end of a large answer is printed up to four times: as a text, a part, an item and the result. Each is one command, so
 * it stays in memory until the store has it. Tenants take turns. Small answers do not come here and do not wait.
 */
export class LargeWrites {
  readonly #lines = new Map<Cell, WriteLine>();

  /** Runs a step of a response when no other of its cell runs. A step must wait for the store alone, and never for another step. */
  run<Result>({ id, tenant }: { id: string; tenant: string }, step: () => Promise<Result>): Promise<Result> {
    const cell = cellOf(id);
    let line = this.#lines.get(cell);
    if (!line) this.#lines.set(cell, (line = new WriteLine()));
    return line.run(tenant, step);
  }
}

/** Steps that run one at a time. */
class WriteLine {
  /** Waiting steps by tenant. The first tenant is next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isTaken = false;

  async run<Result>(tenant: string, step: () => Promise<Result>): Promise<Result> {
    if (this.#isTaken) await this.#turn(tenant);
    this.#isTaken = true;
    try {
      return await step();
    } finally {
      this.#next();
    }
  }

  #turn(tenant: string): Promise<void> {
    return new Promise((resolve) => {
      const line = this.#waiting.get(tenant);
      if (line) line.push(resolve);
      else this.#waiting.set(tenant, [resolve]);
    });
  }

  #next(): void {
    for (const [tenant, line] of this.#waiting) {
      this.#waiting.delete(tenant);
      const [first, ...others] = line;
      if (others.length > 0) this.#waiting.set(tenant, others);
      // The slot passes to the next step directly, so that no other can slip in.
      first?.();
      return;
    }
    this.#isTaken = false;
  }
}
