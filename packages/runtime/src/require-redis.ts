import type { Redis } from 'ioredis';
import { errorCode, FatalError } from './fatal-error.ts';
import { loggedError } from './logged-error.ts';
import type { Logger } from './logger.ts';
import { pause } from './pause.ts';
import { parseRedisAddress } from './redis-address.ts';
import { maskRedisUrl, waitForRedis } from './redis-clients.ts';
import { isRedisUnavailable } from './redis-failure.ts';
import { inspectRedis, type RedisFacts, redisProblems, type WantedDurability } from './redis-readiness.ts';

export interface RedisToFind {
  url: string;
  /** The durability that the settings ask for. A server that cannot give it is refused. */
  durability?: WantedDurability | undefined;
  logger: Logger;
  signal: AbortSignal;
}

/** Enough for a server that starts at the same time. If it takes longer, something is misconfigured. */
const withinMs = 5_000;

/** How often a process that waits for Redis says so, in milliseconds. */
const sayEveryMs = 5_000;

/** How long a Redis that refused a command is left alone before it is asked again, in milliseconds. */
const askAgainMs = 500;

/**
 * Waits for Redis for some seconds, for a person who has just typed the address, and refuses one that would lose
 * accepted work.
 *
 * @throws {FatalError} that says what to change, when Redis cannot be reached, refuses the credentials, or is set up to
 *   lose data.
 */
export async function requireRedis(
  client: Redis,
  { url, durability, logger, signal }: RedisToFind,
): Promise<void> {
  const errors = new LastError(client);
  try {
    await waitForRedis(client, AbortSignal.any([signal, errors.refused, AbortSignal.timeout(withinMs)]));
  } catch (error) {
    if (signal.aborted) throw error;
    throw new FatalError(complaint(maskRedisUrl(url), errors.last), { exitCode: 1, cause: errors.last });
  } finally {
    errors.stop();
  }
  checkFacts(await inspectRedis(client), { url, durability, logger });
}

/**
 * Waits for Redis for as long as it takes, and says so every few seconds. A server that is down, loads its data, is a
 * replica or refuses commands for now may come back; only a problem that waiting cannot mend ends the wait. Resolves with
 * the facts that Redis reports, and rejects with the reason of the signal.
 *
 * @throws {FatalError} that says what to change, when Redis refuses the credentials, is not Redis, or is set up to lose
 *   data.
 */
export async function awaitRedis(
  client: Redis,
  { url, durability, logger, signal }: RedisToFind,
): Promise<RedisFacts> {
  const address = maskRedisUrl(url);
  const errors = new LastError(client);
  const say = () => logger.warn({ redis: address, err: errors.logged() }, 'waiting for redis');
  const reminder = setInterval(say, sayEveryMs);
  try {
    for (;;) {
      await waitForRedis(client, AbortSignal.any([signal, errors.refused]));
      try {
        const facts = await inspectRedis(client);
        checkFacts(facts, { url, durability, logger });
        return facts;
      } catch (error) {
        if (errors.take(error) || !isRedisUnavailable(error)) throw error;
      }
      await pause(askAgainMs, AbortSignal.any([signal, errors.refused]));
      errors.refused.throwIfAborted();
    }
  } catch (error) {
    if (signal.aborted || !errors.refused.aborted) throw error;
    throw new FatalError(complaint(address, errors.last), { exitCode: 1, cause: errors.last });
  } finally {
    clearInterval(reminder);
    errors.stop();
  }
}

/**
 * Runs a step of a start until Redis takes it. The step must survive being done twice. Rejects with the reason of the
 * signal, or with an error that has nothing to do with whether Redis is available.
 */
export async function untilRedisTakes(step: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await step();
    } catch (error) {
      if (!isRedisUnavailable(error)) throw error;
    }
    await pause(askAgainMs, signal);
  }
}

function checkFacts(
  facts: RedisFacts,
  { url, durability = 'local', logger }: Pick<RedisToFind, 'url' | 'durability' | 'logger'>,
): void {
  const isCluster = parseRedisAddress(url).topology.kind === 'cluster';
  for (const { severity, message } of redisProblems(facts, {
    isEmbedded: facts.isEmbedded,
    isCluster,
    durability,
  })) {
    if (severity === 'refuse') throw new FatalError(message, { exitCode: 1 });
    logger.warn({ redis: maskRedisUrl(url) }, message);
  }
}

/** The last error of a client, and whether it is of no use to wait. */
class LastError {
  readonly #client: Redis;
  readonly #refused = new AbortController();
  readonly #onError = (error: unknown) => void this.take(error);
  last: unknown;

  constructor(client: Redis) {
    this.#client = client;
    client.on('error', this.#onError);
  }

  /** Aborts when a server answers that cannot be used, even after a longer wait. */
  get refused(): AbortSignal {
    return this.#refused.signal;
  }

  /** Returns whether the error is such a refusal. */
  take(error: unknown): boolean {
    this.last = error;
    const isFinal = ['credentials', 'protocol'].includes(refusal(error) ?? '');
    if (isFinal) this.#refused.abort();
    return isFinal;
  }

  logged() {
    return this.last === undefined ? undefined : loggedError(this.last);
  }

  stop(): void {
    this.#client.off('error', this.#onError);
  }
}

function complaint(address: string, error: unknown): string {
  switch (refusal(error)) {
    case 'credentials':
      return `Redis at ${address} refused the credentials: correct the user and the password in REDIS_URL.`;
    case 'protocol':
      return `The server at ${address} is not Redis: correct REDIS_URL.`;
    case 'replica':
      return `Redis at ${address} is a read-only replica: point REDIS_URL at the primary.`;
    case undefined: {
      const code = errorCode(error);
      const why = code === undefined ? '' : ` (${code})`;
      return `Redis at ${address} did not answer within ${withinMs / 1000} s${why}: start it, or correct REDIS_URL.`;
    }
  }
}

/** Why a server that answers cannot be used. A replica may become the primary; the others stay what they are. */
function refusal(error: unknown): 'credentials' | 'protocol' | 'replica' | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error.message.startsWith('READONLY')) return 'replica';
  // Also those that a Sentinel or a node of a cluster has refused.
  if (/(^|: )(WRONGPASS|NOAUTH|NOPERM|ERR .*(AUTH|password))/.test(error.message)) return 'credentials';
  return /^(Protocol error|Unknown RESP type)/.test(error.message) ? 'protocol' : undefined;
}
