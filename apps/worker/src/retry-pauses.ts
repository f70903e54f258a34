/**
 * The attempts that keep their slot while they pause before another call. Half of the slots of a queue may, so that an upstream that fails the calls of one
 * tenant, and says that a retry makes sense in a minute, leaves slots to others.
 */
export class RetryPauses {
  readonly #most: () => number;
  readonly #counts = new Map<string, number>();

  /** `slots` is how many attempts of a queue run at a time. */
  constructor({ slots }: { slots: () => number }) {
    this.#most = () => Math.max(1, slots() / 2);
  }

  /** Lets an attempt of a queue pause, and returns what ends that; undefined when half of the slots do. */
  enter(queue: string): (() => void) | undefined {
    const count = this.#counts.get(queue) ?? 0;
    if (count >= this.#most()) return undefined;
    this.#counts.set(queue, count + 1);
    return () => {
      const left = (this.#counts.get(queue) ?? 1) - 1;
      if (left > 0) this.#counts.set(queue, left);
      else this.#counts.delete(queue);
    };
  }
}
