import { setImmediate as nextTurn } from 'node:timers/promises';

/** How many chunks go out in one turn of the event loop before others get one. */
const burst = 64;

/**
 * Lets chunks go at a steady speed, measured from the first one, so that late timers do not add up.
 *
 * Every wait ends with the signal's reason when the signal aborts. Close it when the stream is over.
 */
export class Pacing {
  readonly #signal: AbortSignal;
  readonly #intervalMs: number;
  readonly #onAbort = () => this.#settle();
  #timer: NodeJS.Timeout | undefined;
  #resolve: (() => void) | undefined;
  #startedAt = 0;
  #sent = 0;

  /** `perSecond` 0 means: no waiting. */
  constructor(signal: AbortSignal, perSecond: number) {
    this.#signal = signal;
    this.#intervalMs = perSecond > 0 ? 1000 / perSecond : 0;
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Waits for some time, or without an end when none is given. */
  async rest(ms: number = Number.POSITIVE_INFINITY): Promise<void> {
    this.#signal.throwIfAborted();
    if (ms <= 0) return;
    await new Promise<void>((resolve) => {
      this.#resolve = resolve;
      // Node fires at once for a longer delay than 2^31 - 1 ms; the signal alone ends an endless rest.
      if (ms < 2 ** 31) this.#timer = setTimeout(() => this.#settle(), ms);
    });
    this.#signal.throwIfAborted();
  }

  /** Waits until the next chunk is due; nothing to wait for comes back without a promise. */
  next(): Promise<void> | undefined {
    const position = this.#sent;
    this.#sent += 1;
    if (position === 0) this.#startedAt = performance.now();
    if (this.#intervalMs === 0) {
      return position % burst === burst - 1 ? this.#yield() : undefined;
    }
    const dueInMs = this.#startedAt + position * this.#intervalMs - performance.now();
    // A timer is about a millisecond coarse: what is due within one goes together.
    if (dueInMs >= 1) return this.rest(dueInMs);
    return position % burst === burst - 1 ? this.#yield() : undefined;
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
    clearTimeout(this.#timer);
  }

  async #yield(): Promise<void> {
    await nextTurn();
    this.#signal.throwIfAborted();
  }

  #settle(): void {
    clearTimeout(this.#timer);
    this.#resolve?.();
    this.#resolve = undefined;
  }
}
