import type { Redis } from 'ioredis';
import type { RedisKeys } from './redis-keys.ts';
import { loadScript } from './script.ts';

const eraseScript = loadScript(
  new URL('../src/record.lua', import.meta.url),
  new URL('../src/erase.lua', import.meta.url),
);

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
