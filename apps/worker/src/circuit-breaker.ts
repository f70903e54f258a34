import { CallWindow } from './call-window.ts';

export interface BreakerSettings {
  /** Failures in a row that open it. */
  consecutiveFailures: number;
  /** Share of failed calls, in percent, that opens it once there were `minimumCalls` in the window. */
  failurePercent: number;
  minimumCalls: number;
  /** How far back calls count, in milliseconds. */
  windowMs: number;
  /** How long it stays open the first time, and at most, in milliseconds. */
  openMs: number;
  longestOpenMs: number;
}

export interface BreakerOptions {
  settings: BreakerSettings;
  /** For durations, in milliseconds. */
  now: () => number;
  /** From 0 to 1. */
  random: () => number;
  /** Called at each change of the state, after it. `openMs` is how long it stays open, 0 for other states. */
  onChange: (state: BreakerState, openMs: number) => void;
}

/** `half_open`: it was open for long enough, and one call finds out whether the upstream is back. */
export type BreakerState = 'closed' | 'open' | 'half_open';

/** A call that the breaker let through. It ends in `succeeded`, `failed` or `abandoned`; later calls have no effect. */
export interface BreakerCall {
  /** The upstream has begun to answer: a probe that gets this far closes the breaker. */
  answered(): void;
  succeeded(): void;
  failed(): void;
  /** The call ended for a reason that says nothing about the upstream, such as a cancellation. */
  abandoned(): void;
}

type Phase =
  | { kind: 'closed'; since: number }
  | { kind: 'open'; until: number }
  | { kind: 'probing'; since: number };

/** A random part of this share is added to the time it stays open, so that several workers do not probe together. */
export const openJitter = 0.2;

/** After this long without an answer to a probe, in milliseconds, another may begin beside it. */
export const longestProbeMs = 5_000;

/**
 * Keeps calls from an upstream that cannot be reached. No request can cause that, so it does not matter whose calls
 * failed. `RouteBreaker` is for failures that a request may have caused.
 *
 * It opens after a number of failures in a row, or at a share of failures among enough calls of the window. It then lets
 * nothing through for a while. After that it lets one probe through, and another if the first takes long. A probe that is
 * answered closes the breaker. A probe that fails opens it for twice as long, up to a bound. An opening within a window
 * of the last closing doubles that time, too.
 *
 * Calls that began before the last change of the state say nothing about the time after it and are not counted.
 */
export class CircuitBreaker {
  readonly #options: BreakerOptions;
  #phase: Phase;
  #window: CallWindow;
  #consecutive = 0;
  /** When it opened after it was closed; undefined while it is closed. */
  #downSince: number | undefined;
  /** Openings that followed each other closely; decides how long the next one lasts. */
  #repeated = 0;
  /** Counts the changes between closed, open and probing. */
  #era = 0;

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#phase = { kind: 'closed', since: Number.NEGATIVE_INFINITY };
    this.#window = new CallWindow(options.settings.windowMs);
  }

  get state(): BreakerState {
    if (this.#phase.kind === 'closed') return 'closed';
    return this.#phase.kind === 'open' && this.opensInMs > 0 ? 'open' : 'half_open';
  }

  /** Whether a call may begin now. */
  get admits(): boolean {
    switch (this.#phase.kind) {
      case 'closed':
        return true;
      case 'open':
        return this.opensInMs === 0;
      case 'probing':
        return this.#options.now() - this.#phase.since >= longestProbeMs;
    }
  }

  /** How long it stays open from now, in milliseconds; 0 when it is not open. */
  get opensInMs(): number {
    return this.#phase.kind === 'open' ? Math.max(0, this.#phase.until - this.#options.now()) : 0;
  }

  /**
   * How long the upstream is known to have been down, in milliseconds: since it opened, failed probes included; 0 when it is
   * closed. Time in which a probe was due and nobody made one does not count.
   */
  get downMs(): number {
    return this.#downSince === undefined ? 0 : this.#options.now() - this.#downSince - this.#idleMs;
  }

  /** How long a probe has been due. */
  get #idleMs(): number {
    return this.#phase.kind === 'open' ? Math.max(0, this.#options.now() - this.#phase.until) : 0;
  }

  /** Lets a call through; undefined when none may begin. The first call of a half-open breaker is the probe. */
  begin(): BreakerCall | undefined {
    if (!this.admits) return undefined;
    if (this.#phase.kind === 'open') {
      if (this.#downSince !== undefined) this.#downSince += this.#idleMs;
      this.#enter({ kind: 'probing', since: this.#options.now() });
      this.#options.onChange('half_open', 0);
    } else if (this.#phase.kind === 'probing') {
      // Both probes belong to the same era, and the first that is answered decides.
      this.#phase.since = this.#options.now();
    }
    return this.#call();
  }

  #call(): BreakerCall {
    let era: number | undefined = this.#era;
    // Every call that begins in an era of probing is a probe.
    const isProbing = () => era === this.#era && this.#phase.kind === 'probing';
    const end = (change: () => void) => {
      if (era === this.#era) change();
      era = undefined;
    };
    return {
      answered: () => {
        if (!isProbing()) return;
        this.#close();
        era = this.#era;
      },
      succeeded: () => end(() => (isProbing() ? this.#close() : this.#count(false))),
      failed: () => end(() => (isProbing() ? this.#open() : this.#count(true))),
      abandoned: () => {
        // The next call is the probe.
        end(() => isProbing() && this.#enter({ kind: 'open', until: this.#options.now() }));
      },
    };
  }

  #count(isFailure: boolean): void {
    const { consecutiveFailures, failurePercent, minimumCalls } = this.#options.settings;
    this.#window.add(this.#options.now(), isFailure);
    if (!isFailure) {
      this.#consecutive = 0;
      return;
    }
    this.#consecutive += 1;
    const { calls, failures } = this.#window.sum(this.#options.now());
    const isShareReached = calls >= minimumCalls && failures * 100 >= calls * failurePercent;
    if (this.#consecutive >= consecutiveFailures || isShareReached) this.#open();
  }

  #open(): void {
    const { now, random, settings, onChange } = this.#options;
    const at = now();
    const isRepeated =
      this.#phase.kind === 'probing' ||
      (this.#phase.kind === 'closed' && at - this.#phase.since < settings.windowMs);
    this.#repeated = isRepeated ? this.#repeated + 1 : 0;
    const plainMs = Math.min(settings.openMs * 2 ** this.#repeated, settings.longestOpenMs);
    const openMs = plainMs * (1 + random() * openJitter);
    this.#downSince ??= at;
    this.#enter({ kind: 'open', until: at + openMs });
    onChange('open', openMs);
  }

  #close(): void {
    const at = this.#options.now();
    this.#enter({ kind: 'closed', since: at });
    this.#downSince = undefined;
    this.#consecutive = 0;
    this.#window = new CallWindow(this.#options.settings.windowMs);
    this.#options.onChange('closed', 0);
  }

  #enter(phase: Phase): void {
    this.#phase = phase;
    this.#era += 1;
  }
}
