export interface ConcurrencyLimitOptions {
  /** Calls at a time that are always allowed, and that never are exceeded. */
  floor: number;
  most: number;
}

/** The limit falls to this share when the upstream has too much to do. */
const backoff = 0.9;

/**
 * How many calls at a time an upstream gets from this process: additive increase, multiplicative decrease (Chiu and Jain
 * 1989), with the share and the condition of the AIMD limit in Netflix's concurrency-limits.
 *
 * It begins at the most. Overload takes a tenth of it, or of what is in flight if that is less. Each success while at least
 * half of the limit is in flight adds its part of one, so a round of calls adds one.
 */
export class ConcurrencyLimit {
  readonly #lowest: number;
  #most: number;
  #limit: number;
  #inFlight = 0;
  #loweredAt = Number.NEGATIVE_INFINITY;

  constructor({ floor, most }: ConcurrencyLimitOptions) {
    this.#most = most;
    this.#lowest = floor;
    this.#limit = most;
  }

  /** A limit that was at the most follows it. One that is lowered stays, unless it is above the new most. */
  set most(most: number) {
    this.#limit = this.isLowered ? Math.min(this.#limit, most) : most;
    this.#most = most;
  }

  /** Calls that may be in flight. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** How many more calls may begin now. */
  get room(): number {
    return Math.max(0, this.limit - this.#inFlight);
  }

  get isLowered(): boolean {
    return this.limit < this.#most;
  }

  /** Whether the limit holds calls back, or soon would. */
  get isInUse(): boolean {
    return this.#inFlight * 2 >= this.limit;
  }

  get #floor(): number {
    return Math.min(this.#lowest, this.#most);
  }

  begin(): void {
    this.#inFlight += 1;
  }

  /** A call is over, however it ended. */
  ended(): void {
    this.#inFlight -= 1;
  }

  /** A call succeeded that is still counted as in flight. */
  succeeded(): void {
    if (this.isInUse) this.#limit = Math.min(this.#most, this.#limit + 1 / this.#limit);
  }

  /** A call that began at `calledAt` was refused. Those that were under way together count once. */
  overloaded(calledAt: number, now: number): void {
    if (calledAt < this.#loweredAt) return;
    this.#loweredAt = now;
    this.lower(Math.min(1, this.#inFlight / this.#limit) * backoff);
  }

  /** Lowers the limit to a share of it. */
  lower(share: number): void {
    this.#limit = Math.max(this.#floor, this.#limit * share);
  }
}
