import type { WaitingInput } from './input-budget.ts';

/**
 * The pause of a response that found no room, in milliseconds: so much for each that waits, so that a tenant with thousands of them costs the
 * store few claims a second.
 */
const pauseMs = { least: 500, each: 20, most: 30_000 };

/**
 * How long a response still counts after it was due, in milliseconds. By then it has come back, or another worker has run it. One that goes
 * from worker to worker while it waits keeps its place in each of them.
 */
const lateMs = 15_000;

/** How often those are looked for that do not come back, in milliseconds. */
const lookEveryMs = 1_000;

export interface WaitsForRoomOptions {
  /** For durations, in milliseconds. */
  now: () => number;
}

/**
 * The responses that this process has given back because there was no room for their inputs: how long the next one waits, and in which order
 * they are to have room. A tenant that has few of them waits for its share of those alone.
 *
 * Tenants take turns. The turn of one is over when the response has left that has waited longest, so however many it has, those of another
 * wait for one of them.
 */
export class WaitsForRoom {
  readonly #options: WaitsForRoomOptions;
  readonly #waiting = new Map<string, { tenant: string; until: number }>();
  /** The waiting inputs of each tenant, the one that has waited longest first. The tenants are in the order of their turns. */
  readonly #lines = new Map<string, Map<string, WaitingInput>>();
  #lookAt = Number.NEGATIVE_INFINITY;

  constructor(options: WaitsForRoomOptions) {
    this.#options = options;
  }

  /** How long a response should wait that has found no room, in milliseconds. One that has waited longest does not wait for those behind it. */
  pauseMs({ id, tenant }: Pick<WaitingInput, 'id' | 'tenant'>): number {
    this.#forgetThoseDue();
    const line = this.#lines.get(tenant);
    const ofTenant = line?.keys().next().value === id ? 1 : (line?.size ?? 0);
    // All that wait, or as many as if each tenant had as many as this one.
    const others = Math.min(this.#waiting.size, ofTenant * this.#lines.size);
    return Math.min(Math.max(pauseMs.least, others * pauseMs.each), pauseMs.most);
  }

  /** Counts a response that waits for so long. One that has come back and goes on waiting keeps its place. */
  add(input: WaitingInput, forMs: number): void {
    const { id, tenant } = input;
    this.#waiting.set(id, { tenant, until: this.#options.now() + forMs + lateMs });
    const line = this.#lines.get(tenant);
    if (line) line.set(id, input);
    else this.#lines.set(tenant, new Map([[id, input]]));
  }

  /** Counts a response no longer. */
  delete(responseId: string): void {
    const waiting = this.#waiting.get(responseId);
    if (!waiting) return;
    this.#waiting.delete(responseId);
    const { tenant } = waiting;
    const line = this.#lines.get(tenant);
    if (!line) return;
    const isTurnOver = line.keys().next().value === responseId;
    line.delete(responseId);
    if (isTurnOver) this.#lines.delete(tenant);
    if (isTurnOver && line.size > 0) this.#lines.set(tenant, line);
  }

  /** The inputs that wait, in the order in which they are to have room. */
  *inOrder(): Generator<WaitingInput> {
    this.#forgetThoseDue();
    for (const line of this.#lines.values()) yield* line.values();
  }

  #forgetThoseDue(): void {
    const now = this.#options.now();
    if (now < this.#lookAt) return;
    this.#lookAt = now + lookEveryMs;
    for (const [id, { until }] of this.#waiting) if (until < now) this.delete(id);
  }
}
