import { randomBytes } from 'node:crypto';
import { newResponseId } from '@sluice/contract';
import type { TestRedis } from '@sluice/testing';
import { recordVersion, type RedisKeys, redisKeys } from '../src/index.ts';

export interface AcceptedOptions {
  streams?: boolean;
  background?: boolean;
  /** Leases of api processes with somebody attached. */
  watchers?: string[];
  /** Fields of the record that differ, by their names in the store. */
  fields?: Record<string, string | number>;
}

export const retention = { recordMs: 60_000, logMs: 30_000 };

export function testKeys(redis: TestRedis): RedisKeys {
  return redisKeys(`${redis.prefix}:`);
}

/** A record as the accept leaves it: queued, in the background unless asked otherwise, its first events logged. */
export async function acceptedRecord(
  redis: TestRedis,
  { streams = true, background = true, watchers = [], fields = {} }: AcceptedOptions = {},
): Promise<string> {
  const keys = testKeys(redis);
  const id = newResponseId(randomBytes);
  const expireMs = 600_000;
  const now = Date.now();
  const record = {
    id,
    tenant: 'team-a',
    status: 'queued',
    accepted_at: now,
    bytes: 10,
    queue_by: now + 600_000,
    seq: 1,
    stream: streams ? 1 : 0,
    version: recordVersion,
    tier: 'default',
    queue: 'simulator',
    request: JSON.stringify({ model: 'simulator', stream: streams, background }),
    request_id: 'req_1',
    background: background ? 1 : 0,
    grace_ms: 0,
    input: JSON.stringify([{ type: 'message', role: 'user', content: 'hi' }]),
    ...(watchers.length > 0 && { watchers: watchers.join(' ') }),
    ...fields,
  };
  const batch = redis.client
    .multi()
    .hset(keys.record(id), record)
    .pexpire(keys.record(id), expireMs)
    .zadd(keys.open, now, id)
    .hincrby(keys.load, 'queued', 1)
    .hincrby(keys.load, 'bytes', 10)
    .hincrby(keys.load, 'queued:team-a', 1);
  if (streams) {
    batch
      .xadd(keys.log(id), '1-0', 'e', '{"type":"response.created"}')
      .xadd(keys.log(id), '1-1', 'e', '{"type":"response.queued"}')
      .pexpire(keys.log(id), expireMs);
  }
  await batch.exec();
  return id;
}

/** What the log holds: numbers and JSON, in order. */
export async function logOf(redis: TestRedis, id: string): Promise<[number, string][]> {
  const entries = await redis.client.xrange(testKeys(redis).log(id), '-', '+');
  return entries.map(([entry, fields]) => [Number(entry.split('-')[1]), fields[1] ?? '']);
}
