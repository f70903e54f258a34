import type { Redis } from 'ioredis';

/** Replies of a Redis that cannot take commands now, by their first word. */
const refusals =
  /^(OOM|READONLY|LOADING|BUSY|MISCONF|MASTERDOWN|CLUSTERDOWN|NOREPLICAS|TRYAGAIN|UNBLOCKED|NOAUTH|WRONGPASS)\b/;

/** Errors of ioredis for a command that could not be sent or got no reply. */
const transport =
  /^(Command timed out|Connection is closed|Stream isn't writeable|Reached the max retries per request limit|Socket timeout)/;

/**
 * Whether an error means that Redis is away, overloaded or refuses commands for now. The same command may succeed
 * later.
 */
export function isRedisUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (refusals.test(error.message) || transport.test(error.message)) return true;
  const code = 'code' in error ? error.code : undefined;
  return code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === 'ETIMEDOUT' || code === 'EPIPE';
}

/** Whether Redis answers a PING. A hanging Redis keeps its connections; a command client gives up after a second. */
export async function redisAnswers(commands: Redis): Promise<boolean> {
  try {
    await commands.ping();
    return true;
  } catch {
    return false;
  }
}
