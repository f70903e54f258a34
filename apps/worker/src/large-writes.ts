/**
 * Prints and writes large answers one at a time.
 *
 * The end of a large answer is printed up to four times: as a text, a part, an item and the result. Each is one command, so
 * it stays in memory until the store has it. Tenants take turns. Small answers do not come here and do not wait.
 */
export class LargeWrites {
  /** Waiting steps by tenant. The first tenant is next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isTaken = false;

  /** Runs a step when no other runs. A step must wait for the store alone, and never for another step. */
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
