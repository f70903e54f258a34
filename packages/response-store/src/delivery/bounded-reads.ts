/**
 * Most reads under way at a time. Each may bring an answer of many megabytes into memory, and those behind it on the
 * connection wait for it. Small ones, of which there can be thousands, still come in at four in a round trip.
 */
const mostReads = 4;

/** Lets reads of a process in, a few at a time, in the order in which they were asked for. */
export class BoundedReads {
  #underWay = 0;
  readonly #waiting: (() => void)[] = [];

  /** Resolves or rejects as the read does. */
  async run<Result>(read: () => Promise<Result>): Promise<Result> {
    if (this.#underWay < mostReads) this.#underWay += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await read();
    } finally {
      // The place is handed on, so that no other read gets in between.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#underWay -= 1;
    }
  }
}
