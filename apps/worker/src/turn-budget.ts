/**
 * Chunks that an attempt takes before it lets others have their turn: some half a millisecond. With 16 the first tokens
 * of 64 fast streams came as soon, and the smaller appends cost a sixth of the throughput.
 */
export const chunksPerSlice = 64;

/**
 * Shares the turns of the event loop among the attempts of a process: one slice in each.
 *
 * A fast upstream fills whole reads with chunks. If an attempt took them all at once, or every attempt took a slice in each
 * turn, a claim or a first token would wait for all of them at each of its steps. So a turn takes one slice, whatever the
 * number of attempts, and attempts are served in the order in which they asked.
 */
export class TurnBudget {
  readonly #waiting: (() => void)[] = [];
  #isScheduled = false;

  /** Resolves when the next slice may be taken, in a later turn. */
  next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    this.#schedule();
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#waiting.shift()?.();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }
}
