import type { Redis } from 'ioredis';
import { loggedError } from './logged-error.ts';
import type { Logger } from './logger.ts';

export interface RedisClockOptions {
  client: Redis;
  logger: Logger;
  /** How often the offset is sampled; 10 s by default. */
  everyMs?: number;
  /** A clock that does not jump, in milliseconds; `performance.now` by default. */
  monotonicNow?: () => number;
  /** The local clock, used until Redis has answered once; `Date.now` by default. */
  localNow?: () => number;
}

/**
 * Redis's time in this process, for deadlines that scripts compare with `TIME`.
 *
 * Between samples it advances with the monotonic clock, so a local clock that is wrong, or set while the process runs,
 * has no effect on `now()`. After a reconnect the offset is measured again, because it may be another server. While
 * Redis is away the last offset stays in use.
 */
export class RedisClock {
  readonly #client: Redis;
  readonly #logger: Logger;
  readonly #everyMs: number;
  readonly #monotonicNow: () => number;
  readonly #localNow: () => number;
  readonly #onReady = () => void this.sample({ afterReconnect: true });
  #timer: NodeJS.Timeout | undefined;
  #estimate: Estimate | undefined;

  constructor(options: RedisClockOptions) {
    this.#client = options.client;
    this.#logger = options.logger;
    this.#everyMs = options.everyMs ?? 10_000;
    this.#monotonicNow = options.monotonicNow ?? (() => performance.now());
    this.#localNow = options.localNow ?? (() => Date.now());
  }

  /** Milliseconds since 1970 on Redis's clock; the local clock until Redis has answered once. */
  now(): number {
    if (this.#estimate === undefined) return this.#localNow();
    return Math.round(this.#monotonicNow() + this.#estimate.offsetMs);
  }

  /** Whether Redis has answered, so that `now()` is its time. */
  get isSynchronized(): boolean {
    return this.#estimate !== undefined;
  }

  /** Takes the first sample and keeps sampling, which keeps no process running. It also resolves while Redis is away, and samples once it is back. */
  async start(): Promise<void> {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => void this.sample(), this.#everyMs).unref();
    this.#client.on('ready', this.#onReady);
    if (this.#client.status === 'ready') await this.sample();
  }

  /** Ends the sampling; `now()` continues from the last sample. Twice, or before `start`, is fine. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#client.off('ready', this.#onReady);
  }

  /** Asks Redis for its time once. Never rejects: without an answer the last offset stays. */
  async sample({ afterReconnect = false }: { afterReconnect?: boolean } = {}): Promise<void> {
    const sentAt = this.#monotonicNow();
    try {
      const [seconds, microseconds] = await this.#client.time();
      const receivedAt = this.#monotonicNow();
      const redisMs = Number(seconds) * 1000 + Number(microseconds) / 1000;
      const sample = {
        offsetMs: redisMs - (sentAt + receivedAt) / 2,
        errorMs: (receivedAt - sentAt) / 2,
      };
      this.#estimate = afterReconnect ? sample : betterEstimate(this.#estimate, sample);
    } catch (error) {
      this.#logger.debug({ err: loggedError(error) }, 'redis time not sampled');
    }
  }
}

/** Redis's time minus the monotonic clock, and the error of that: half of the sample's round trip. */
interface Estimate {
  offsetMs: number;
  errorMs: number;
}

/** Keeps the known offset if it lies within the error of a slower sample. Otherwise the sample replaces it. */
function betterEstimate(known: Estimate | undefined, sample: Estimate): Estimate {
  if (known === undefined || sample.errorMs <= known.errorMs) return sample;
  return Math.abs(sample.offsetMs - known.offsetMs) > sample.errorMs ? sample : known;
}
