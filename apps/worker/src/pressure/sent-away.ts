import { RecentTenants } from '../recent-tenants.ts';

/** A response is sent away for so long at most, in milliseconds: its upstream may take more by then, and nobody fetches it sooner. */
const longestMs = 30_000;

/** The time of one bucket, in milliseconds. */
const bucketMs = 1_000;

/** So many come back in a second at least, if there are as many: each takes a claim, and none of them the place of a newcomer. */
const fewestBack = 100;

/** Some of those that come back find the line full again, so more come than are served. */
const backPerServed = 3;

/** Counts the responses of a tenant that were sent away from a route and are not due yet. */
export class SentAway {
  readonly #now: () => number;
  /** How many are due in each bucket of time, the earliest first. A time that comes again is behind all that are still to come. */
  readonly #due: number[] = Array.from({ length: longestMs / bucketMs + 1 }, () => 0);
  #first: number;
  #size = 0;

  constructor({ now }: { now: () => number }) {
    this.#now = now;
    this.#first = this.#bucketAt(0);
  }

  /** Those that are away. Any of them may come back to another process. */
  get size(): number {
    const first = this.#bucketAt(0);
    const passed = Math.min(first - this.#first, this.#due.length);
    for (let each = 0; each < passed; each += 1) {
      const place = (this.#first + each) % this.#due.length;
      this.#size -= this.#due[place] ?? 0;
      this.#due[place] = 0;
    }
    this.#first = first;
    return this.#size;
  }

  /**
   * For how long one more should go away, in milliseconds: at least for `leastMs`, and the longer the more are away, so that they come back as they can be
   * served, and not all of them again and again.
   *
   * @param servedPerSecond how many are served in a second, as far as that is known.
   */
  nextMs(leastMs: number, servedPerSecond: number): number {
    const back = Math.max(fewestBack, backPerServed * servedPerSecond);
    return Math.min(Math.max(leastMs, (this.size * 1000) / back), longestMs);
  }

  /** One more is away, for as long as `nextMs` at most. */
  add(awayMs: number): void {
    const place = this.#bucketAt(Math.min(awayMs, longestMs)) % this.#due.length;
    this.#due[place] = (this.#due[place] ?? 0) + 1;
    this.#size += 1;
  }

  #bucketAt(inMs: number): number {
    return Math.floor((this.#now() + inMs) / bucketMs);
  }
}

/** The responses that were sent away from a route, by tenant: those of one come back as if no other had any. */
export class TenantsAway {
  readonly #now: () => number;
  readonly #tenants = new RecentTenants<SentAway>();

  constructor({ now }: { now: () => number }) {
    this.#now = now;
  }

  /** As `SentAway` says it. */
  nextMs(tenant: string, leastMs: number, servedPerSecond: number): number {
    return this.#tenants.get(tenant)?.nextMs(leastMs, servedPerSecond) ?? leastMs;
  }

  add(tenant: string, awayMs: number): void {
    const away = this.#tenants.get(tenant) ?? new SentAway({ now: this.#now });
    away.add(awayMs);
    this.#tenants.set(tenant, away);
  }
}
