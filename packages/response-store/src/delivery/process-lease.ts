import type { RedisCommands } from '../record/connection.ts';

/** How long a process counts as alive after its last sign of life, and how often it gives one, in milliseconds. */
const ttlMs = 5_000;
const renewEveryMs = 1_000;

export interface ProcessLeaseOptions {
  commands: RedisCommands;
  /** One key in each cell. */
  keys: readonly string[];
  onError: (error: unknown) => void;
}

/**
 * The lease of an api process. While it is renewed, responses whose callers wait here count as wanted; when the process
 * dies it lapses, and workers stop what nobody waits for.
 */
export class ProcessLease {
  readonly #options: ProcessLeaseOptions;
  #timer: NodeJS.Timeout | undefined;
  readonly #onReady = () => void this.#renew();

  constructor(options: ProcessLeaseOptions) {
    this.#options = options;
  }

  /** Resolves when the lease is held, or its first renewal failed; the next one is a moment away. */
  async start(): Promise<void> {
    // It may have lapsed while the store was away: workers give its owner a moment to take it again.
    this.#options.commands.on('ready', this.#onReady);
    this.#timer = setInterval(() => void this.#renew(), renewEveryMs);
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

  async #renew(): Promise<void> {
    const { commands, keys, onError } = this.#options;
    try {
      await Promise.all(keys.map((key) => commands.set(key, '1', 'PX', ttlMs)));
    } catch (error) {
      onError(error);
    }
  }
}
