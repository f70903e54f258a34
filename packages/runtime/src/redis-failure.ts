import type { Redis } from 'ioredis';

/** What Redis answers while it cannot take commands, by the first word of the reply. */
const refusals =
  /^(OOM|READONLY|LOADING|BUSY|MISCONF|MASTERDOWN|CLUSTERDOWN|NOREPLICAS|TRYAGAIN|UNBLOCKED|NOAUTH|WRONGPASS)\b/;

/** What ioredis says when a command could not be sent or got no answer. */
const transport =
  /^(Command timed out|Connection is closed|Stream isn't writeable|Reached the max retries per request limit|Socket timeout)/;

/**
 * Whether an error means that Redis is away, overloaded or refusing work for the moment: nothing is wrong with
 * the request, and the same command may succeed later.
 */
export function isRedisUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (refusals.test(error.message) || transport.test(error.message)) return true;
  const code = 'code' in error ? error.code : undefined;
  return code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === 'ETIMEDOUT' || code === 'EPIPE';
}

/** Whether Redis answers now. Asked, since a frozen one keeps its connections; a command client gives up after a second. */
export async function redisAnswers(commands: Redis): Promise<boolean> {
  try {
    await commands.ping();
    return true;
  } catch {
    return false;
  }
}
