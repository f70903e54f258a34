/** A lock is given up this long before it lapses, in milliseconds, and no more than this share of its length. */
const longestMarginMs = 2_000;
const marginShare = 1 / 3;

/** Looks at the locks in the time of one margin. */
const looksPerMargin = 4;

export interface HeldLocksOptions {
  lockMs: number;
  /** For durations, in milliseconds. */
  now: () => number;
}

interface HeldLock {
  lost: AbortController;
  /** When the last renewal was answered, or the lock was added. */
  renewedAt: number;
}

/**
 * The locks on the jobs that this process runs. Each has a signal that says that it is lost: because the store
 * said so, or because no renewal was answered for so long that it is about to lapse. Somebody else may run the job
 * then, and two runs at once cost an upstream call.
 */
export class HeldLocks {
  readonly #held = new Map<string, HeldLock>();
  readonly #giveUpAfterMs: number;
  readonly #lookEveryMs: number;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;

  constructor({ lockMs, now }: HeldLocksOptions) {
    const marginMs = Math.min(longestMarginMs, lockMs * marginShare);
    this.#lookEveryMs = marginMs / looksPerMargin;
    // What a look comes too late is part of the margin.
    this.#giveUpAfterMs = lockMs - marginMs;
    this.#now = now;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#giveUpOld(), this.#lookEveryMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  get size(): number {
    return this.#held.size;
  }

  has(jobId: string): boolean {
    return this.#held.has(jobId);
  }

  /** Registers a lock that was taken a moment ago. There must be none on the same job. */
  add(jobId: string): AbortSignal {
    const lost = new AbortController();
    this.#held.set(jobId, { lost, renewedAt: this.#now() });
    return lost.signal;
  }

  renewed(jobIds: readonly string[]): void {
    const renewedAt = this.#now();
    for (const jobId of jobIds) {
      const held = this.#held.get(jobId);
      if (held) held.renewedAt = renewedAt;
    }
  }

  lost(jobIds: readonly string[]): void {
    for (const jobId of jobIds) this.#held.get(jobId)?.lost.abort();
  }

  remove(jobId: string): void {
    this.#held.delete(jobId);
  }

  #giveUpOld(): void {
    const oldest = this.#now() - this.#giveUpAfterMs;
    for (const { lost, renewedAt } of this.#held.values()) {
      if (renewedAt <= oldest) lost.abort();
    }
  }
}
