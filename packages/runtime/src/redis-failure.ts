/**
 * Replies of a Redis that cannot take commands now, by their first word. Some last until an operator acts, such as a missing
 * permission. Callers get the same error for all, because they can mend none of them. EXECABORT follows from one of the
 * others.
 */
const refusals =
  /^(EXECABORT|OOM|READONLY|LOADING|BUSY|MISCONF|MASTERDOWN|CLUSTERDOWN|MOVED|ASK|NOREPLICAS|TRYAGAIN|UNBLOCKED|NOAUTH|NOPERM|WRONGPASS)\b/;

/**
 * The prefix that Redis before 7 puts in front of an error of a command in a script, such as
 * `ERR Error running script (call to f_0a1b): @user_script:1: @user_script: 12: -OOM command not allowed …`.
 */
const raisedByScript = /^ERR Error running script \(call to \w+\): (?:@\S+: ?(?:\d+: )?)*-?/;

/** The user may not run a command of a script. Redis has no first word for that. */
const forbiddenInScript = /The user executing the script can't (run|access)|ACL failure in script/;

/** The error of ioredis for a command that it has not sent, because the connection is not ready and commands must not wait. */
const notReady = "Stream isn't writeable and enableOfflineQueue options is false";

/** Errors of ioredis for a command that could not be sent or got no reply. */
const transport =
  /^(Command timed out|Connection is closed|Stream isn't writeable|Reached the max retries per request limit|Socket timeout)/;

/**
 * Whether an error means that Redis is away, overloaded or refuses commands for now. The same command may succeed
 * later.
 */
export function isRedisUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const reply = error.message.replace(raisedByScript, '');
  return refusals.test(reply) || forbiddenInScript.test(reply) || isReplyMissing(error);
}

/** Whether Redis refuses a command because it has no memory left. Commands that free some still pass. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && /^OOM\b/.test(error.message.replace(raisedByScript, ''));
}

/**
 * Whether a command has no reply: it was not sent, or nobody knows whether Redis has run it, or will. The same command
 * may be sent again if it is harmless twice.
 */
export function isReplyMissing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof RedisSilentError || transport.test(error.message)) return true;
  const code = 'code' in error ? error.code : undefined;
  return code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === 'ETIMEDOUT' || code === 'EPIPE';
}

/**
 * Whether a command certainly never left this process, so that Redis cannot run it. ioredis gives the one message to
 * commands that it does not write, and to no others; every other failure may belong to one that was sent.
 */
export function isNeverSent(error: unknown): boolean {
  return error instanceof RedisSilentError || (error instanceof Error && error.message === notReady);
}

/** Why a command was not sent: Redis has owed answers on its connection for too long. */
export class RedisSilentError extends Error {
  override readonly name = 'RedisSilentError';

  constructor() {
    super('Redis does not answer');
  }
}
