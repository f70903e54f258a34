import { type BreakerSettings, longestProbeMs, openJitter } from './circuit-breaker.ts';
import { everybody } from './recent-tenants.ts';

export interface ProbeLanesOptions {
  settings: Pick<BreakerSettings, 'openMs' | 'longestOpenMs'>;
  /** How often the first wait of a lane is doubled. */
  repeated: number;
  /** For durations, in milliseconds. */
  now: () => number;
  /** From 0 to 1. */
  random: () => number;
}

/** A way through an open breaker for one probe at a time. */
export interface Lane {
  /** No probe goes through before this time. */
  until: number;
  /** When the probe in flight began. */
  probeAt: number | undefined;
  /** Decides how long the next wait is. */
  failures: number;
}

/**
 * The lanes through an open breaker. The first tenants whose calls failed have one each, so that none of them can use up the
 * probes of another. Tenants that fail later share one, and so do tenants that have not failed.
 */
export class ProbeLanes {
  readonly #options: ProbeLanesOptions;
  readonly #own = new Map<string, Lane>();
  /** The lane that later tenants share; undefined while there are none. */
  #later: Lane | undefined;
  readonly others: Lane = { until: Number.NEGATIVE_INFINITY, probeAt: undefined, failures: 0 };

  constructor(options: ProbeLanesOptions) {
    this.#options = options;
  }

  /** The lane of a tenant whose calls failed. A new one begins with a wait. */
  ofFailed(tenant: string): Lane {
    const own = this.#own.get(tenant);
    if (own) return own;
    if (this.#own.size >= everybody - 1) return (this.#later ??= this.#newLane());
    const lane = this.#newLane();
    this.#own.set(tenant, lane);
    return lane;
  }

  admits({ until, probeAt }: Lane): boolean {
    const now = this.#options.now();
    return now >= until && (probeAt === undefined || now - probeAt >= longestProbeMs);
  }

  waitMs({ until }: Lane): number {
    return Math.max(0, until - this.#options.now());
  }

  /** Lets nothing through for a while, which is twice as long each time. */
  close(lane: Lane): void {
    const { settings, now, random } = this.#options;
    const plainMs = Math.min(settings.openMs * 2 ** lane.failures, settings.longestOpenMs);
    lane.until = now() + plainMs * (1 + random() * openJitter);
    lane.failures += 1;
  }

  /** Whether a tenant that failed tries again. */
  get isProbed(): boolean {
    return this.#used.some(({ probeAt }) => probeAt !== undefined);
  }

  /** When the next failed tenant may try again. */
  get nextAt(): number {
    return Math.min(...this.#used.map(({ until }) => until));
  }

  /** How long a failed tenant could have tried again, and none did. */
  get idleMs(): number {
    return this.isProbed ? 0 : Math.max(0, this.#options.now() - this.nextAt);
  }

  get #used(): Lane[] {
    return this.#later ? [...this.#own.values(), this.#later] : [...this.#own.values()];
  }

  #newLane(): Lane {
    const lane = { until: 0, probeAt: undefined, failures: this.#options.repeated };
    this.close(lane);
    return lane;
  }
}
