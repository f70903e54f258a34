import type { RedisCommands } from './connection.ts';

/** How long a process counts as alive after its last sign of life, in milliseconds, unless it says otherwise. */
const processLeaseMs = 5_000;

/** Signs of life within the time of a lease. */
const renewalsPerLease = 5;

/** The lease that an api process holds as long as it lives; see {@link ProcessLease}. */
export interface Lease {
  /** Resolves when the lease is held, or its first renewal failed; the next one is a moment away. */
  start(): Promise<void>;
  /** Gives the lease up, so that no other process has to wait until it lapses. */
  stop(): Promise<void>;
}

export interface ProcessLeaseOptions {
  commands: Pick<RedisCommands, 'set' | 'del' | 'on' | 'off'>;
  /** One key in each cell. */
  keys: readonly string[];
  /** How long the lease stands without a renewal, in milliseconds. */
  ttlMs?: number;
  onError: (error: unknown) => void;
  /** Asked before each renewal: nothing is renewed for a process that is stuck. By default it never is. */
  isAlive?: () => boolean;
}

/**
 * The lease of a process. While an api renews its lease, responses whose callers wait there count as wanted; while a worker
 * does, nobody else runs what it runs. When the process dies its lease lapses.
 */
export class ProcessLease implements Lease {
  readonly #options: ProcessLeaseOptions;
  readonly #ttlMs: number;
  #timer: NodeJS.Timeout | undefined;
  /** When the last renewal that was answered was sent, and when the first one since the lease was last missing. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  #heldSince = Number.POSITIVE_INFINITY;
  readonly #onReady = () => void this.#renew();

  constructor(options: ProcessLeaseOptions) {
    this.#options = options;
    this.#ttlMs = options.ttlMs ?? processLeaseMs;
  }

  async start(): Promise<void> {
    // It may have lapsed while the store was away: workers give its owner a moment to take it again.
    this.#options.commands.on('ready', this.#onReady);
    this.#timer = setInterval(() => void this.#renew(), this.#ttlMs / renewalsPerLease);
    await this.#renew();
  }

  async stop(): Promise<void> {
    const { commands, keys } = this.#options;
    clearInterval(this.#timer);
    commands.off('ready', this.#onReady);
    try {
      for (const key of keys) await commands.del(key);
    } catch {
      // It lapses by itself.
    }
  }

  /**
   * For how long the lease has been held without a break, in milliseconds; 0 when it may not be held now.
   *
   * A break means that the store was away, or this process was out of its reach. The leases of others may have lapsed
   * then as well, although they live.
   */
  get heldMs(): number {
    const now = performance.now();
    return now - this.#renewedAt > this.#ttlMs ? 0 : Math.max(now - this.#heldSince, 0);
  }

  async #renew(): Promise<void> {
    const { commands, keys, onError, isAlive } = this.#options;
    if (isAlive?.() === false) return;
    const sentAt = performance.now();
    try {
      const before = await Promise.all(keys.map((key) => commands.set(key, '1', 'PX', this.#ttlMs, 'GET')));
      if (before.includes(null)) this.#heldSince = sentAt;
      this.#renewedAt = Math.max(this.#renewedAt, sentAt);
    } catch (error) {
      onError(error);
    }
  }
}
