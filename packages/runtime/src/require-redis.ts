import type { Redis } from 'ioredis';
import { FatalError } from './fatal-error.ts';
import type { Logger } from './logger.ts';
import { maskRedisUrl, waitForRedis } from './redis-clients.ts';
import { inspectRedis, redisProblems } from './redis-readiness.ts';

/** A server that starts beside this process needs a moment; one that is away longer is somebody's mistake. */
const withinMs = 5_000;

/**
 * Waits for Redis and refuses one that would lose accepted work.
 *
 * @throws {FatalError} that says what to change, when it cannot be reached or is set up to forget.
 */
export async function requireRedis(
  client: Redis,
  { url, logger, signal }: { url: string; logger: Logger; signal: AbortSignal },
): Promise<void> {
  const deadline = AbortSignal.timeout(withinMs);
  try {
    await waitForRedis(client, AbortSignal.any([signal, deadline]));
  } catch (error) {
    if (signal.aborted) throw error;
    throw new FatalError(
      `Redis at ${maskRedisUrl(url)} did not answer within ${withinMs / 1000} s: start it, or correct REDIS_URL.`,
      { exitCode: 1 },
    );
  }
  const facts = await inspectRedis(client);
  for (const { severity, message } of redisProblems(facts, facts)) {
    if (severity === 'refuse') throw new FatalError(message, { exitCode: 1 });
    logger.warn({ redis: maskRedisUrl(url) }, message);
  }
}
