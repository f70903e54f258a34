/**
 * The pause of a response that found no room, in milliseconds: so much for each that waits, so that a tenant with thousands of them costs the
 * store few claims a second.
 */
const pauseMs = { least: 500, each: 20, most: 30_000 };

/** How long a response still counts after it was due, in milliseconds. By then it has come back, or another worker has run it. */
const lateMs = 5_000;

/** How often those are looked for that do not come back, in milliseconds. */
const lookEveryMs = 1_000;

export interface WaitsForRoomOptions {
  /** For durations, in milliseconds. */
  now: () => number;
}

/**
 * The responses that this process has given back because there was no room for their inputs, and how long the next one waits. A tenant that has
 * few of them waits for its share of those alone.
 */
export class WaitsForRoom {
  readonly #options: WaitsForRoomOptions;
  readonly #waiting = new Map<string, { tenant: string; until: number }>();
  /** How many those of each tenant are. */
  readonly #ofTenants = new Map<string, number>();
  #lookAt = Number.NEGATIVE_INFINITY;

  constructor(options: WaitsForRoomOptions) {
    this.#options = options;
  }

  /** How long a response should wait that has found no room, in milliseconds. */
  pauseMs(tenant: string): number {
    this.#forgetThoseDue();
    const ofTenant = this.#ofTenants.get(tenant) ?? 0;
    // All that wait, or as many as if each tenant had as many as this one.
    const others = Math.min(this.#waiting.size, ofTenant * this.#ofTenants.size);
    return Math.min(Math.max(pauseMs.least, others * pauseMs.each), pauseMs.most);
  }

  /** Counts a response that waits for so long. */
  add({ id, tenant }: { id: string; tenant: string }, forMs: number): void {
    this.delete(id);
    this.#waiting.set(id, { tenant, until: this.#options.now() + forMs + lateMs });
    this.#ofTenants.set(tenant, (this.#ofTenants.get(tenant) ?? 0) + 1);
  }

  /** Counts a response no longer. */
  delete(responseId: string): void {
    const waiting = this.#waiting.get(responseId);
    if (!waiting) return;
    this.#waiting.delete(responseId);
    const left = (this.#ofTenants.get(waiting.tenant) ?? 1) - 1;
    if (left > 0) this.#ofTenants.set(waiting.tenant, left);
    else this.#ofTenants.delete(waiting.tenant);
  }

  #forgetThoseDue(): void {
    const now = this.#options.now();
    if (now < this.#lookAt) return;
    this.#lookAt = now + lookEveryMs;
    for (const [id, { until }] of this.#waiting) if (until < now) this.delete(id);
  }
}
