import { errorEvent, type ResponseEnd } from '@sluice/contract';
import { append, readRecord, type RedisKeys, type Retention } from '@sluice/event-log';
import type { Redis } from 'ioredis';
import { retentionOf } from './redis-response-log.ts';

export interface EndQueuedOptions {
  redis: Redis;
  keys: RedisKeys;
  retention: Retention;
}

/**
 * Ends a response that no worker has taken, in one step; nothing happens when one has by now.
 *
 * A stream that fails gets its `error` event in the same step, because clients miss a failure without it.
 * `last` is the number of the last event in the log.
 */
export async function endQueued(
  { redis, keys, retention }: EndQueuedOptions,
  responseId: string,
  last: number,
  end: ResponseEnd,
): Promise<void> {
  const record = await readRecord(redis, keys, responseId);
  if (!record) return;
  const events = end.error && record.streams ? [numbered(errorEvent(end.error), last + 1)] : [];
  const ofRecord = retentionOf(record, retention);
  const ending = { token: '', sequenceNumber: last + 1, events, end, retention: ofRecord };
  await append(redis, keys, responseId, ending);
}

/** As the log keeps events: the type first, then the number. */
function numbered({ type, ...members }: ReturnType<typeof errorEvent>, sequenceNumber: number): string {
  return JSON.stringify({ type, sequence_number: sequenceNumber, ...members });
}
