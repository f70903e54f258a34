import { setImmediate as nextTurn } from 'node:timers/promises';

/** How many chunks are sent in one turn of the event loop before other work gets its turn. */
const burst = 64;

/**
 * Paces chunks at a steady speed. Each is due relative to the first one, so delays of timers do not add up.
 *
 * An abort rejects every wait with the signal's reason. Close it when the stream is over.
 */
export class Pacing {
  readonly #signal: AbortSignal;
  readonly #intervalMs: number;
  readonly #onAbort = () => this.#settle();
  #timer: NodeJS.Timeout | undefined;
  #resolve: (() => void) | undefined;
  #startedAt = 0;
  #sent = 0;

  /** A `perSecond` of 0 means as fast as possible. */
  constructor(signal: AbortSignal, perSecond: number) {
    this.#signal = signal;
    this.#intervalMs = perSecond > 0 ? 1000 / perSecond : 0;
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Waits for a time, or until the signal aborts when none is given. */
  async rest(ms: number = Number.POSITIVE_INFINITY): Promise<void> {
    this.#signal.throwIfAborted();
    if (ms <= 0) return;
    await new Promise<void>((resolve) => {
      this.#resolve = resolve;
      // Node fires at once for a delay above 2^31 - 1 ms. An endless rest has no timer.
      if (ms < 2 ** 31) this.#timer = setTimeout(() => this.#settle(), ms);
    });
    this.#signal.throwIfAborted();
  }

  /** Waits until the next chunk is due. Returns undefined, which costs no promise, when it is due already. */
  next(): Promise<void> | undefined {
    const position = this.#sent;
    this.#sent += 1;
    if (position === 0) this.#startedAt = performance.now();
    if (this.#intervalMs === 0) {
      return position % burst === burst - 1 ? this.#yield() : undefined;
    }
    const dueInMs = this.#startedAt + position * this.#intervalMs - performance.now();
    // Timers have a resolution of about a millisecond, so chunks due within one are sent together.
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
