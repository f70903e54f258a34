import { isLifecycleType, parseEvent, type ContentEvent } from '@sluice/contract';
import {
  checkLeases,
  claim,
  type ClaimedRecord,
  EventWriter,
  readContext,
  readEvents,
  type RedisKeys,
  release,
  retentionOf,
  type RetentionSettings,
  typeOf,
} from '@sluice/event-log';
import type { Redis } from 'ioredis';
import type { ResponseLog, WriterOptions } from './response-log.ts';

/** Events read from the log at once. */
const pageSize = 500;

export interface RedisResponseLogOptions {
  redis: Redis;
  keys: RedisKeys;
  workerChannel: string;
  totalMs: number;
  maxAttempts: number;
  retention: RetentionSettings;
}

/** The event log of package `event-log`, as attempts use it. */
export function redisResponseLog(options: RedisResponseLogOptions): ResponseLog {
  const { redis, keys, workerChannel, totalMs, maxAttempts } = options;
  return {
    claim: (responseId, token) =>
      claim(redis, keys, responseId, { token, workerChannel, totalMs, maxAttempts }),
    writer: (record: ClaimedRecord, token: string, { onRefused, signal }: WriterOptions) =>
      new EventWriter({
        redis,
        keys,
        responseId: record.id,
        token,
        sequenceNumber: record.sequenceNumber,
        streams: record.streams,
        retention: retentionOf(record.request, options.retention),
        onRefused,
        signal,
      }),
    context: ({ request }) => readContext(redis, keys, request.previous_response_id),
    contentEvents: (responseId) => readContentEvents(redis, keys, responseId),
    release: (responseId, token) => release(redis, keys, responseId, token),
    checkLeases: (held) => checkLeases(redis, keys, held),
  };
}

async function readContentEvents(redis: Redis, keys: RedisKeys, responseId: string): Promise<ContentEvent[]> {
  const events: ContentEvent[] = [];
  let cursor = -1;
  for (;;) {
    const page = await readEvents(redis, keys, responseId, cursor, pageSize);
    for (const { json, sequenceNumber } of page) {
      cursor = sequenceNumber;
      if (isLifecycleType(typeOf(json))) continue;
      events.push(parseEvent(json) as ContentEvent); // its type is not one of the life cycle
    }
    if (page.length < pageSize) return events;
  }
}
