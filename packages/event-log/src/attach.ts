import type { Redis } from 'ioredis';
import type { RedisKeys } from './redis-keys.ts';
import { loadScript } from './script.ts';

const prelude = new URL('../src/record.lua', import.meta.url);
const attachScript = loadScript(new URL('../src/attach.lua', import.meta.url));
const eraseScript = loadScript(prelude, new URL('../src/erase.lua', import.meta.url));

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

/**
 * Takes away everything of a response, for good. A worker that still runs it is refused from then on.
 *
 * With `unlessWatchedByOthers` only that api process is taken off while another one has somebody attached.
 */
export async function erase(
  redis: Redis,
  keys: RedisKeys,
  responseId: string,
  tenant: string,
  unlessWatchedByOthers: string = '',
): Promise<boolean> {
  const taken = await eraseScript(
    redis,
    [
      keys.record(responseId),
      keys.log(responseId),
      keys.input(responseId),
      keys.open,
      keys.load,
      keys.stored(tenant),
    ],
    [responseId, unlessWatchedByOthers],
  );
  return taken === 1;
}
