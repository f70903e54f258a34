const windowSeconds = 60;

export interface ReadLimitsOptions {
  /** A clock that is never set back, in milliseconds; `performance.now` by default. */
  now?: () => number;
}

/**
 * Counts the requests of each tenant that create nothing: reads, cancels, deletions. They have no part in the limits that the
 * store keeps, and a client that polls as fast as it can takes the time of every neighbour.
 *
 * Each api process counts its own, so that a refusal costs the store nothing and works while it is silent. A minute is the
 * current second and the 59 before it. What is refused does not count.
 */
export class ReadLimits {
  readonly #now: () => number;
  readonly #windows = new Map<string, Window>();

  constructor({ now = () => performance.now() }: ReadLimitsOptions = {}) {
    this.#now = now;
  }

  /** Counts a request of a tenant. Returns the milliseconds until one fits, if the tenant has had so many in this minute. */
  count(tenant: string, perMinute: number): number | undefined {
    const now = this.#now();
    const second = Math.floor(now / 1000);
    const window = this.#windowOf(tenant);
    window.moveTo(second);
    if (window.sum < perMinute) {
      window.add(second);
      return undefined;
    }
    return window.roomAt(perMinute) * 1000 - now;
  }

  #windowOf(tenant: string): Window {
    let window = this.#windows.get(tenant);
    if (!window) this.#windows.set(tenant, (window = new Window()));
    return window;
  }
}

class Window {
  sum = 0;
  readonly #counts = new Uint32Array(windowSeconds);
  #second = 0;

  moveTo(second: number): void {
    const gone = Math.min(second - this.#second, windowSeconds);
    for (let age = 0; age < gone; age += 1) {
      const at = (second - age) % windowSeconds;
      this.sum -= this.#counts[at] ?? 0;
      this.#counts[at] = 0;
    }
    this.#second = second;
  }

  add(second: number): void {
    const at = second % windowSeconds;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.sum += 1;
  }

  /** The second from which on fewer than so many are in the window, if none is added. */
  roomAt(limit: number): number {
    let left = this.sum;
    for (let age = windowSeconds - 1; age >= 0; age -= 1) {
      const second = this.#second - age;
      left -= this.#counts[(second + windowSeconds) % windowSeconds] ?? 0;
      if (left < limit) return second + windowSeconds;
    }
    return this.#second + windowSeconds;
  }
}
