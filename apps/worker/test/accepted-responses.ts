import { randomBytes } from 'node:crypto';
import { newResponseId, type ResponseEvent, withEnd } from '@sluice/contract';
import {
  acceptedResponse,
  readEvents,
  readRecord,
  recordVersion,
  type RedisKeys,
  redisKeys,
  type ResponseRecord,
  typeOf,
} from '@sluice/event-log';
import { queueName, ResponseQueue } from '@sluice/queue';
import { eventually, type TestRedis } from '@sluice/testing';

export interface AcceptOptions {
  streams?: boolean;
  /** The user's text. */
  text?: string;
  /** How long it may wait in the queue; 60 s by default, negative for one whose time is up. */
  queueMs?: number;
  /** Leaves the job out, as if it had been lost. */
  withoutJob?: boolean;
  /** Whether the record says that the job was added; true by default. */
  isNoted?: boolean;
}

/** What an api does for a worker, without one: responses of one model that were accepted and wait in the queue. */
export interface AcceptedResponses {
  keys: RedisKeys;
  /** Lease of the api whose callers wait; deleted, they count as gone. */
  lease: string;
  accept(options?: AcceptOptions): Promise<string>;
  record(responseId: string): Promise<ResponseRecord>;
  /** The record, once it has an end. */
  ended(responseId: string): Promise<ResponseRecord>;
  /** The runs it has had. */
  attempts(responseId: string): Promise<number>;
  /** The whole log as a client would see it. */
  events(responseId: string): Promise<unknown[]>;
  queue: ResponseQueue;
  close(): Promise<void>;
}

export async function acceptedResponses(redis: TestRedis, model: string): Promise<AcceptedResponses> {
  const keys = redisKeys(`${redis.prefix}:`);
  const lease = keys.apiProcess('test');
  const name = queueName(model);
  await redis.client.set(lease, '1');
  const queue = new ResponseQueue({
    connection: redis.client,
    keyPrefix: keys.prefix,
    names: [name],
    keep: { completed: 100, failed: 100 },
    onError: () => undefined,
  });
  const record = async (responseId: string) => {
    const found = await readRecord(redis.client, keys, responseId);
    if (!found) throw new Error(`there is no response ${responseId}`);
    return found;
  };
  return {
    keys,
    lease,
    queue,
    record,
    async accept({
      streams = true,
      text = 'Hello',
      queueMs = 60_000,
      withoutJob = false,
      isNoted = true,
    } = {}) {
      const responseId = newResponseId(randomBytes);
      const now = Date.now();
      const request = { model, ...(streams && { stream: true }) };
      const input = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }];
      await redis.client.hset(keys.record(responseId), {
        version: recordVersion,
        id: responseId,
        tenant: 'team',
        status: 'queued',
        tier: 'default',
        queue: name,
        request: JSON.stringify(request),
        input: JSON.stringify(input),
        request_id: 'req_test',
        accepted_at: now,
        queue_by: now + queueMs,
        bytes: 1,
        seq: 1,
        stream: streams ? '1' : '0',
        background: '0',
        grace_ms: '0',
        watchers: lease,
        ...(isNoted && { enqueued: '1' }),
      });
      await redis.client.zadd(keys.open, now, responseId);
      if (streams) {
        await redis.client.xadd(keys.log(responseId), '1-0', 'e', '{"type":"response.created"}');
        await redis.client.xadd(keys.log(responseId), '1-1', 'e', '{"type":"response.queued"}');
      }
      if (!withoutJob) await queue.enqueue(name, responseId);
      return responseId;
    },
    ended: (responseId) =>
      eventually(async () => {
        const found = await record(responseId);
        return found.end && found;
      }),
    attempts: async (responseId) => Number(await redis.client.hget(keys.record(responseId), 'attempt')),
    async events(responseId) {
      const found = await record(responseId);
      const logged = await readEvents(redis.client, keys, responseId, -1, 10_000);
      return logged.map(({ json, sequenceNumber }) => wholeEvent(found, json, sequenceNumber));
    },
    close: () => queue.close(),
  };
}

/** The log abbreviates life-cycle events to their type. */
function wholeEvent(record: ResponseRecord, json: string, sequenceNumber: number): unknown {
  const event = JSON.parse(json) as ResponseEvent; // only its members are looked at
  const type = typeOf(json);
  if (Object.keys(event).length > 1) return event;
  const accepted = acceptedResponse(record);
  const status = type === 'response.in_progress' ? 'in_progress' : 'queued';
  const isLast = record.end && sequenceNumber === record.sequenceNumber;
  const response = isLast && record.end ? withEnd(accepted, record.end) : { ...accepted, status };
  return { type, sequence_number: sequenceNumber, response: { object: 'response', ...response } };
}
