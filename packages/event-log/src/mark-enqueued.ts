import type { Redis } from 'ioredis';
import type { RedisKeys } from './redis-keys.ts';
import { loadScript } from './script.ts';

const markScript = loadScript(new URL('../src/mark-enqueued.lua', import.meta.url));

/**
 * Notes that the response has its job, so that the rescue can tell a job that was lost from one that was never
 * added. Changes nothing when the record is gone.
 */
export async function markEnqueued(redis: Redis, keys: RedisKeys, responseId: string): Promise<void> {
  await markScript(redis, [keys.record(responseId)], []);
}
