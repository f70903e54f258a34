import { errorEvent, type ResponseEnd } from '@sluice/contract';
import type { Redis } from 'ioredis';
import { append } from './append.ts';
import { numberedEvent } from './event-writer.ts';
import { readRecord } from './read.ts';
import type { ResponseRecord } from './record.ts';
import type { RedisKeys } from './redis-keys.ts';
import { retentionOf, type RetentionSettings } from './retention.ts';

/**
 * Ends a response that no worker has taken, in one step. Nothing happens when one has by now, or when it has ended
 * or is gone. A stream that fails gets its `error` event in the same step, because clients miss a failure without it.
 *
 * @returns the record as it was found, for the queue it names; undefined when there is none.
 */
export async function endQueued(
  redis: Redis,
  keys: RedisKeys,
  responseId: string,
  end: ResponseEnd,
  settings: RetentionSettings,
): Promise<ResponseRecord | undefined> {
  const record = await readRecord(redis, keys, responseId);
  if (record?.status !== 'queued') return record;
  const next = record.sequenceNumber + 1;
  const events = end.error && record.streams ? [numberedEvent(errorEvent(end.error), next)] : [];
  const retention = retentionOf(record.request, settings);
  await append(redis, keys, responseId, { token: '', sequenceNumber: next, events, end, retention });
  return record;
}
