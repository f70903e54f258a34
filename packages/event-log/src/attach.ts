import type { Redis } from 'ioredis';
import type { RedisKeys } from './redis-keys.ts';
import { loadScript } from './script.ts';

const attachScript = loadScript(new URL('../src/attach.lua', import.meta.url));

/**
 * Makes an api process a caller of a response: what is appended is published to it, and while its lease lives
 * the response is wanted. Follow it in the relay first. False when there is no such response.
 */
export async function attach(
  redis: Redis,
  keys: RedisKeys,
  responseId: string,
  apiProcess: string,
): Promise<boolean> {
  return (await attachScript(redis, [keys.record(responseId)], [apiProcess])) !== null;
}
