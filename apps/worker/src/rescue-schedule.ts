/** How often the lease is renewed and due responses are looked for, in milliseconds. */
const tickMs = 1_000;

/** How long the lease of the rescue outlasts its last renewal: a dead rescuer is followed after that, in milliseconds. */
const leaseMs = 5_000;

/** How often all open responses are looked through, in milliseconds. */
const roundEveryMs = 5_000;

export interface RescueScheduleOptions {
  /** Takes or renews the lease; false while another process holds it. */
  lead: (leaseMs: number) => Promise<boolean>;
  /** When the next response is due, by the store's clock in milliseconds; undefined when none is open. */
  nextDue: () => Promise<number | undefined>;
  rescue: {
    due(): Promise<number>;
    round(): Promise<number>;
    tend(): Promise<void>;
    startOver(): void;
    stop(): void;
  };
  /** The store's clock, in milliseconds. */
  storeNow: () => number;
  onError: (error: unknown) => void;
}

/**
 * Runs the rescue in the one process that holds its lease. A round goes over all open responses now and then. A response
 * whose time is up ends at that time, without waiting for the next round.
 */
export class RescueSchedule {
  readonly #options: RescueScheduleOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #lastRound = Number.NEGATIVE_INFINITY;
  #isLeading = false;
  #isStopping = false;

  constructor(options: RescueScheduleOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setTimeout(() => this.#run(), tickMs);
  }

  /** Ends the round under way, and lets another process take the lease at once. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    this.#options.rescue.stop();
    await this.#running;
    if (!this.#isLeading) return;
    try {
      await this.#options.lead(1);
    } catch {
      // It lapses by itself.
    }
  }

  #run(): void {
    this.#running = this.#tick()
      .catch((error: unknown) => {
        this.#options.onError(error);
        return tickMs;
      })
      .then((delayMs) => {
        if (!this.#isStopping) this.#timer = setTimeout(() => this.#run(), delayMs);
      });
  }

  /** Returns the time until the next tick. */
  async #tick(): Promise<number> {
    const { lead, nextDue, rescue, storeNow } = this.#options;
    const wasLeading = this.#isLeading;
    this.#isLeading = await lead(leaseMs);
    if (!this.#isLeading) return tickMs;
    if (!wasLeading) rescue.startOver();
    await rescue.due();
    await rescue.tend();
    if (performance.now() - this.#lastRound >= roundEveryMs) {
      this.#lastRound = performance.now();
      await rescue.round();
    }
    const due = await nextDue();
    return due === undefined ? tickMs : Math.min(Math.max(due - storeNow() + 1, 1), tickMs);
  }
}
