import type { Redis } from 'ioredis';
import { loggedError } from './logged-error.ts';
import type { Logger } from './logger.ts';
import { parseRedisAddress } from './redis-address.ts';
import { maskRedisUrl, waitForRedis } from './redis-clients.ts';
import {
  inspectRedis,
  type RedisFacts,
  type RedisProblem,
  redisProblems,
  type WantedDurability,
} from './redis-readiness.ts';
import { awaitRedis } from './require-redis.ts';
import { throttledWarning } from './throttled-warning.ts';

/** How often Redis is tried with a write, in milliseconds: so long at most is a replica taken for a primary. */
const tryEveryMs = 1_000;

/** How often a server with a problem that forbids its use is looked at again, in milliseconds. */
const lookAgainEveryMs = 5_000;

export interface RedisWatchOptions {
  url: string;
  /** A command client, through which Redis is asked. */
  commands: Redis;
  /** The other connections of the process. */
  others: readonly Redis[];
  /** A key that is never set. */
  probeKey: string;
  /** The durability that the settings ask for. A server that cannot give it is refused. */
  durability?: WantedDurability;
  logger: Logger;
}

/**
 * Whether the Redis of a process is there, is a primary that takes writes, and is set up to keep what it accepts: at the
 * start, and for as long as the process runs.
 *
 * A write is tried each second, because a PING is answered also by a replica, by a full server and by one that cannot
 * write to its disk. The settings are looked at again after each reconnect. A new problem is logged. One that would have
 * kept the process from starting makes it not ready until it is mended.
 */
export class RedisWatch {
  readonly #options: RedisWatchOptions;
  readonly #connections: readonly Redis[];
  /** Since when each of the other connections stands. */
  readonly #readyAt = new Map<Redis, number>();
  readonly #warning: ReturnType<typeof throttledWarning>;
  readonly #stops: (() => void)[] = [];
  #lostAt = Number.NEGATIVE_INFINITY;
  #facts: RedisFacts | undefined;
  #problems: readonly RedisProblem[] = [];
  #lookAt = Number.POSITIVE_INFINITY;
  #attempt: Promise<boolean> | undefined;
  /** Whether the last write that was tried failed. */
  #isRefused = false;

  constructor(options: RedisWatchOptions) {
    this.#options = options;
    this.#connections = [options.commands, ...options.others];
    this.#warning = throttledWarning(options.logger, 'redis takes no writes');
    for (const other of options.others)
      this.#listen(other, 'ready', () => this.#readyAt.set(other, performance.now()));
  }

  /**
   * Waits for Redis on every connection, however long that takes, and watches it from then on.
   *
   * @throws {FatalError} that says what to change, for a problem that waiting cannot mend; see `awaitRedis`.
   */
  async start(signal: AbortSignal): Promise<void> {
    const { url, commands, durability, logger } = this.#options;
    this.#facts = await awaitRedis(commands, { url, durability, logger, signal });
    this.#problems = this.#problemsOf(this.#facts);
    this.#listen(commands, 'close', () => (this.#lostAt = performance.now()));
    this.#listen(commands, 'ready', () => {
      this.#lookAt = performance.now();
      void this.#look();
    });
    const timer = setInterval(() => void this.#tick(), tryEveryMs);
    this.#stops.push(() => clearInterval(timer));
    // They began at the same time, and may be between two attempts when the first one gets through.
    await Promise.all(this.#options.others.map((other) => waitForRedis(other, signal)));
  }

  /** Twice, or before `start`, is fine. */
  stop(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  /** Whether every connection stands and Redis takes a write now. False until `start` has resolved. */
  async isReady(): Promise<boolean> {
    if (this.#facts === undefined || this.#refusal !== undefined) return false;
    return this.#connections.every(({ status }) => status === 'ready') && (await this.#takesWrites());
  }

  /** The same as of the last second, without asking Redis. */
  get isWell(): boolean {
    if (this.#facts === undefined || this.#refusal !== undefined || this.#isRefused) return false;
    return this.#connections.every(({ status }) => status === 'ready');
  }

  /** Why Redis is less safe than it should be, as of the last check. */
  get problems(): readonly RedisProblem[] {
    return this.#problems;
  }

  /** The facts that Redis reported at the last check: at the start, and after each reconnect. */
  get facts(): RedisFacts | undefined {
    return this.#facts;
  }

  get #refusal(): RedisProblem | undefined {
    return this.#problems.find(({ severity }) => severity === 'refuse');
  }

  #problemsOf(facts: RedisFacts): RedisProblem[] {
    const { url, durability = 'local' } = this.#options;
    const isCluster = parseRedisAddress(url).topology.kind === 'cluster';
    return redisProblems(facts, { isEmbedded: facts.isEmbedded, isCluster, durability });
  }

  #listen(client: Redis, event: 'close' | 'ready', listener: () => void): void {
    client.on(event, listener);
    this.#stops.push(() => client.off(event, listener));
  }

  async #tick(): Promise<void> {
    if (performance.now() >= this.#lookAt) await this.#look();
    await this.#takesWrites();
  }

  /** Tries a write that changes nothing and that no log keeps. Callers that ask meanwhile share its answer. */
  #takesWrites(): Promise<boolean> {
    const { commands } = this.#options;
    // The connection says itself that it is lost.
    if (commands.status !== 'ready') return Promise.resolve(false);
    this.#attempt ??= this.#tryWrite().finally(() => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  }

  async #tryWrite(): Promise<boolean> {
    const { commands, probeKey } = this.#options;
    try {
      await commands.set(probeKey, '', 'XX');
      if (this.#isRefused) this.#warning.restored('redis takes writes again');
      this.#isRefused = false;
    } catch (error) {
      this.#isRefused = true;
      this.#warning.warn(error);
    }
    return !this.#isRefused;
  }

  async #look(): Promise<void> {
    const { commands, logger } = this.#options;
    try {
      const facts = await inspectRedis(commands);
      this.#leaveFormerServer(facts);
      this.#facts = facts;
      this.#tellOf(this.#problemsOf(facts));
      this.#lookAt = this.#refusal ? performance.now() + lookAgainEveryMs : Number.POSITIVE_INFINITY;
    } catch (error) {
      // The next tick looks again.
      logger.debug({ err: loggedError(error) }, 'redis not inspected');
    }
  }

  /**
   * After a failover the commands lead to the new primary, since they were refused by the old one or lost it. Every
   * connection that is older than that still leads to the old one, and may never notice.
   */
  #leaveFormerServer({ runId }: RedisFacts): void {
    if (runId === this.#facts?.runId) return;
    for (const other of this.#options.others) {
      const readyAt = this.#readyAt.get(other) ?? Number.NEGATIVE_INFINITY;
      if (other.status === 'ready' && readyAt < this.#lostAt) other.disconnect(true);
    }
  }

  #tellOf(problems: readonly RedisProblem[]): void {
    const { logger, url } = this.#options;
    const redis = maskRedisUrl(url);
    const known = new Set(this.#problems.map(({ message }) => message));
    for (const { severity, message } of problems) {
      if (known.has(message)) continue;
      if (severity === 'refuse') logger.error({ redis }, message);
      else logger.warn({ redis }, message);
    }
    const wasRefused = this.#refusal !== undefined;
    this.#problems = problems;
    if (wasRefused && this.#refusal === undefined)
      logger.info({ redis }, 'redis is set up as it must be again');
  }
}
