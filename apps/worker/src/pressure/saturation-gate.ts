/** How many more calls begin between two readings, each time that the queue was short: twice as many. */
const widening = 2;

/** From this many calls between two readings on, they are not counted. */
const wideOpen = 1_000;

/**
 * Holds calls back while the upstream's own queue is too long.
 *
 * It closes when more wait there than the bound. When it opens again, only as many calls begin until the next reading as
 * the bound has room for, and one for each that ends; twice as many after that reading, and so on. All that waited here
 * would otherwise wait there, and close it at once. A queue that cannot be read leaves it open.
 */
export class SaturationGate {
  readonly #most: number;
  #value: number | undefined;
  /** Calls that may begin until the next reading. */
  #allowance = Number.POSITIVE_INFINITY;
  #left = Number.POSITIVE_INFINITY;

  constructor({ most }: { most: number }) {
    this.#most = most;
  }

  get isClosed(): boolean {
    return this.#left <= 0;
  }

  /** How many wait at the upstream; undefined when it could not be read, or has not been yet. */
  get value(): number | undefined {
    return this.#value;
  }

  get most(): number {
    return this.#most;
  }

  /** Takes the length of the upstream's own queue; undefined when it could not be read. */
  read(value: number | undefined): void {
    this.#value = value;
    if (value === undefined) this.#allowance = Number.POSITIVE_INFINITY;
    else if (value > this.#most) this.#allowance = 0;
    else if (this.#allowance === 0) this.#allowance = Math.max(1, this.#most - value);
    else if (this.#allowance * widening < wideOpen) this.#allowance *= widening;
    else this.#allowance = Number.POSITIVE_INFINITY;
    this.#left = this.#allowance;
  }

  begin(): void {
    this.#left -= 1;
  }

  /** A call is over: the upstream has room for another, unless it has too much to do. */
  ended(): void {
    if (this.#allowance > 0) this.#left += 1;
  }
}
