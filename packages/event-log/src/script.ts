import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

/** Runs one Lua script: `keys` become KEYS, `args` ARGV. */
export type Script = (redis: Redis, keys: string[], args: (string | number)[]) => Promise<unknown>;

/**
 * Loads a Lua script, with the fragments it builds on in front of it.
 *
 * Calls go by digest; a server that does not know the script (a restart, a failover, SCRIPT FLUSH) is sent its
 * text once, so a lost script cache is never seen by a caller.
 */
export function loadScript(...files: URL[]): Script {
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  const digest = createHash('sha1').update(text).digest('hex');
  return async (redis, keys, args) => {
    try {
      return await redis.evalsha(digest, keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return redis.eval(text, keys.length, ...keys, ...args);
    }
  };
}

/** The reply of a script that answers with a list; everything in it is text or absent. */
export function textReply(reply: unknown): (string | undefined)[] {
  if (!Array.isArray(reply)) throw new TypeError('A script answered with something that is no list');
  // oxlint-disable-next-line typescript/no-base-to-string -- the protocol has texts, numbers and absence here
  return reply.map((value: unknown) => (value === null || value === undefined ? undefined : String(value)));
}
