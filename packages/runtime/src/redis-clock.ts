import type { Redis } from 'ioredis';
import { loggedError, type Logger } from './logger.ts';

export interface RedisClockOptions {
  client: Redis;
  logger: Logger;
  /** How often the offset is sampled; 10 s by default. */
  everyMs?: number;
  /** A clock that does not jump, in milliseconds; `performance.now` by default. */
  monotonicNow?: () => number;
  /** This machine's idea of the time, used until Redis has answered once; `Date.now` by default. */
  localNow?: () => number;
}

/**
 * Redis's time in this process, for deadlines that scripts compare with `TIME`.
 *
 * It counts on from the last sample with the monotonic clock, so neither a wrong local clock nor one that is set
 * while the process runs changes what `now()` says. After a reconnect the offset is taken anew, because another
 * server may have answered. While Redis is away the last offset stays in use.
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

  /** How far the local clock is ahead of Redis's, in milliseconds; 0 until Redis has answered. */
  get localSkewMs(): number {
    return this.#localNow() - this.now();
  }

  /** Takes the first sample and goes on sampling. Resolves also when Redis is away: the next connection is sampled. */
  async start(): Promise<void> {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => void this.sample(), this.#everyMs);
    this.#client.on('ready', this.#onReady);
    if (this.#client.status === 'ready') await this.sample();
  }

  /** Ends the sampling; `now()` goes on from the last sample. Twice, or before `start`, is fine. */
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

/** Redis's time minus the monotonic clock, and how far off that may be: half of the sample's round trip. */
interface Estimate {
  offsetMs: number;
  errorMs: number;
}

/** A slow sample tells nothing new when the known offset lies within its error; any other replaces it. */
function betterEstimate(known: Estimate | undefined, sample: Estimate): Estimate {
  if (known === undefined || sample.errorMs <= known.errorMs) return sample;
  return Math.abs(sample.offsetMs - known.offsetMs) > sample.errorMs ? sample : known;
}
