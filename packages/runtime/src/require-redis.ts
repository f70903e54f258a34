import type { Redis } from 'ioredis';
import { errorCode, FatalError } from './fatal-error.ts';
import type { Logger } from './logger.ts';
import { maskRedisUrl, waitForRedis } from './redis-clients.ts';
import { inspectRedis, redisProblems } from './redis-readiness.ts';

/** Enough for a server that starts at the same time. If it takes longer, something is misconfigured. */
const withinMs = 5_000;

/**
 * Waits for Redis and refuses one that would lose accepted work.
 *
 * @throws {FatalError} that says what to change, when Redis cannot be reached, refuses the credentials, or is set up to
 *   lose data.
 */
export async function requireRedis(
  client: Redis,
  { url, logger, signal }: { url: string; logger: Logger; signal: AbortSignal },
): Promise<void> {
  await connected(client, url, signal);
  const facts = await inspectRedis(client);
  for (const { severity, message } of redisProblems(facts, facts)) {
    if (severity === 'refuse') throw new FatalError(message, { exitCode: 1 });
    logger.warn({ redis: maskRedisUrl(url) }, message);
  }
}

async function connected(client: Redis, url: string, signal: AbortSignal): Promise<void> {
  const refused = new AbortController();
  let last: unknown;
  const onError = (error: unknown) => {
    last = error;
    if (refusal(error)) refused.abort();
  };
  client.on('error', onError);
  try {
    await waitForRedis(client, AbortSignal.any([signal, refused.signal, AbortSignal.timeout(withinMs)]));
  } catch (error) {
    if (signal.aborted) throw error;
    throw new FatalError(complaint(maskRedisUrl(url), last), { exitCode: 1, cause: last });
  } finally {
    client.off('error', onError);
  }
}

function complaint(address: string, error: unknown): string {
  switch (refusal(error)) {
    case 'credentials':
      return `Redis at ${address} refused the credentials: correct the user and the password in REDIS_URL.`;
    case 'protocol':
      return `What answers at ${address} is not Redis: correct REDIS_URL.`;
    case undefined: {
      const code = errorCode(error);
      const why = code === undefined ? '' : ` (${code})`;
      return `Redis at ${address} did not answer within ${withinMs / 1000} s${why}: start it, or correct REDIS_URL.`;
    }
  }
}

/** Why a server that answers cannot be used, even after a longer wait. */
function refusal(error: unknown): 'credentials' | 'protocol' | undefined {
  if (!(error instanceof Error)) return undefined;
  if (/^(WRONGPASS|NOAUTH|NOPERM|ERR .*(AUTH|password))/.test(error.message)) return 'credentials';
  return /^(Protocol error|Unknown RESP type)/.test(error.message) ? 'protocol' : undefined;
}
