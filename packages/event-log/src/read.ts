import type { Redis } from 'ioredis';
import { derivedEvents } from './derived-events.ts';
import { fieldMap, parseRecord, type ResponseRecord } from './record.ts';
import type { RedisKeys } from './redis-keys.ts';

/** An event as the log keeps it. The JSON of a life-cycle event is abbreviated to its type. */
export interface LoggedEvent {
  sequenceNumber: number;
  json: string;
}

/** What a reader needs of a record. The input stays where it is: it can be large, and a reader has no use for it. */
const readFields =
  'id tenant status tier request queue accepted_at started_at ended_at stream seq enqueued result'.split(' ');

/** The record of a response, or undefined when there is none: unknown, deleted or expired. */
export async function readRecord(
  redis: Redis,
  keys: RedisKeys,
  responseId: string,
): Promise<ResponseRecord | undefined> {
  const values = await redis.hmget(keys.record(responseId), ...readFields);
  const fields = fieldMap(readFields.flatMap((name, at) => [name, values[at] ?? undefined]));
  return fields.has('status') ? parseRecord(fields) : undefined;
}

/** Up to `count` logged events after a cursor; -1 reads from the first. */
export async function readEvents(
  redis: Redis,
  keys: RedisKeys,
  responseId: string,
  cursor: number,
  count: number,
): Promise<LoggedEvent[]> {
  const start = cursor < 0 ? '-' : `(1-${cursor}`;
  const entries = await redis.xrange(keys.log(responseId), start, '+', 'COUNT', count);
  return entries.map(([id, fields]) => ({
    sequenceNumber: Number(id.slice(id.indexOf('-') + 1)),
    json: fields[1] ?? '',
  }));
}

/** The events after a cursor of a response that has no log of its own; none when it is gone. */
export async function readDerivedEvents(
  redis: Redis,
  keys: RedisKeys,
  responseId: string,
  cursor: number,
): Promise<LoggedEvent[]> {
  const record = await readRecord(redis, keys, responseId);
  return record ? derivedEvents(record).slice(cursor + 1) : [];
}

/** Whether the events of a streamed response are still there. They go earlier than the response itself. */
export async function hasLog(redis: Redis, keys: RedisKeys, responseId: string): Promise<boolean> {
  return (await redis.exists(keys.log(responseId))) === 1;
}

/** The type of an event, from JSON whose first member it is, without parsing the rest. */
export function typeOf(json: string): string {
  return json.slice(9, json.indexOf('"', 9));
}
