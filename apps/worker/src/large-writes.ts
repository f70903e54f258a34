/**
 * Lets large answers be printed and written one at a time.
 *
 * The end of a large answer is printed up to four times: as a text, a part, an item and the result. Each of them is one command,
 * so it is in memory until the store has it. Tenants take turns, and an answer that is not large waits for none.
 */
export class LargeWrites {
  /** Those that wait, by tenant; the first tenant is next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isTaken = false;

  /** Runs a step when nobody else is in one. The store must be what ends it, and nothing that may wait for another step. */
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
      // The step stays taken: nobody comes between.
      first?.();
      return;
    }
    this.#isTaken = false;
  }
}
