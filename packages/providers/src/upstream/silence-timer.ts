/** How long an upstream may take, in milliseconds. */
export interface Timeouts {
  /** Until the connection is made and the request is sent. */
  connectMs: number;
  /** From then until the first chunk of the answer. */
  firstTokenMs: number;
  /** Between two events of the answer. Comments in the stream do not count as events. */
  idleMs: number;
}

/** Time-outs of an upstream in place of the defaults. */
export type OwnTimeouts = { [Name in keyof Timeouts]?: number | undefined };

export interface SilenceTimerOptions {
  /** Whether the call waits for the upstream, and not for the consumer. */
  isAwaited: () => boolean;
  onSilence: () => void;
}

/**
 * Notices when an upstream says nothing for too long. Time in which we read nothing from it does not count.
 *
 * One timer serves a whole phase of a call and measures the silence when it fires. A timer for each event would cost more.
 */
export class SilenceTimer {
  readonly #options: SilenceTimerOptions;
  #timer: NodeJS.Timeout | undefined;
  #heardAt = 0;
  #heldSince: number | undefined;
  #heldMs = 0;

  constructor(options: SilenceTimerOptions) {
    this.#options = options;
  }

  /**
   * Begins a phase. Its silence is that since the last event with `countsEvents`; otherwise the phase as a whole has a limit,
   * whatever is heard.
   */
  arm(limitMs: number, { countsEvents }: { countsEvents: boolean }): void {
    this.heard();
    this.#heldMs = 0;
    this.#schedule(limitMs, limitMs, countsEvents);
  }

  /** Notes a sign of life. */
  heard(): void {
    this.#heardAt = performance.now();
  }

  /** Notes that nothing is read from now on. */
  pause(): void {
    this.#heldSince ??= performance.now();
  }

  /** Notes that reading goes on. */
  resume(): void {
    if (this.#heldSince !== undefined) this.#heldMs += performance.now() - this.#heldSince;
    this.#heldSince = undefined;
    this.heard();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #schedule(afterMs: number, limitMs: number, countsEvents: boolean): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#look(limitMs, countsEvents), Math.max(1, afterMs));
  }

  #look(limitMs: number, countsEvents: boolean): void {
    const restMs = countsEvents ? this.#restOfSilence(limitMs) : this.#takeHeld();
    if (restMs > 1) this.#schedule(restMs, limitMs, countsEvents);
    else this.#options.onSilence();
  }

  #restOfSilence(limitMs: number): number {
    // Time that the consumer spends on earlier events does not count as silence of the upstream.
    if (this.#heldSince !== undefined || !this.#options.isAwaited()) return limitMs;
    return limitMs - (performance.now() - this.#heardAt);
  }

  /** Time of the phase in which nothing was read. Returned once. */
  #takeHeld(): number {
    if (this.#heldSince !== undefined) {
      this.resume();
      this.pause();
    }
    const heldMs = this.#heldMs;
    this.#heldMs = 0;
    return heldMs;
  }
}
