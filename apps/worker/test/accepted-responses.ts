import { randomBytes } from 'node:crypto';
import { type ResponseEvent, withEnd } from '@sluice/contract';
import { queueName, ResponseQueue } from '@sluice/queue';
import {
  acceptedResponse,
  CallerStore,
  type CellKeys,
  defaultCell,
  type ResponseRecord,
  typeOf,
  prepareRequest,
} from '@sluice/response-store';
import { eventually, type TestRedis } from '@sluice/testing';

export interface AcceptOptions {
  streams?: boolean;
  background?: boolean;
  /** `team` by default. */
  tenant?: string;
  /** The user's text. */
  text?: string;
  /** Id of the response that it continues from. */
  previous?: string;
  promptCacheKey?: string;
  /** How long it may wait in the queue; 60 s by default, negative for one whose time is up. */
  queueMs?: number;
  /** Leaves the job out, as if it had been lost. */
  withoutJob?: boolean;
  /** Whether the record says that the job was added; true by default. */
  isNoted?: boolean;
}

/** What an api does for a worker, without HTTP: responses of one model that were accepted and wait in the queue. */
export interface AcceptedResponses {
  store: CallerStore;
  keys: CellKeys;
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
  const store = new CallerStore({
    commands: redis.client,
    bulk: redis.client,
    largeValues: redis.client,
    subscriber: redis.connect(),
    keyPrefix: `${redis.prefix}:`,
    retention: { responseSeconds: 600, eventLogSeconds: 600 },
    processId: 'test',
    onError: () => undefined,
  });
  const keys = store.keys.inCell(defaultCell);
  const lease = keys.apiProcess('test');
  const name = queueName(model);
  // A lease that nobody renews, so that a test can let it lapse.
  await redis.client.set(lease, '1');
  const queue = new ResponseQueue({
    connection: redis.client,
    keyPrefix: keys.prefix,
    names: [name],
    onError: () => undefined,
  });
  const record = async (responseId: string) => {
    const found = await store.read(responseId);
    if (!found) throw new Error(`there is no response ${responseId}`);
    return found;
  };
  return {
    store,
    keys,
    lease,
    queue,
    record,
    async accept({
      streams = true,
      background = false,
      tenant = 'team',
      text = 'Hello',
      previous,
      promptCacheKey,
      queueMs = 60_000,
      withoutJob = false,
      isNoted = true,
    } = {}) {
      const [responseId = ''] = await store.newIds(tenant, randomBytes, { limits: {} });
      const accepted = await store.accept({
        id: responseId,
        key: 'a1b2c3d4e5f60718',
        request_id: 'req_test',
        tenant,
        tier: 'default',
        queue: name,
        traceparent: undefined,
        most_output: undefined,
        price: undefined,
        grace_ms: 0,
        cost: 4,
        queue_ms: queueMs,
        hold_ms: 600_000,
        most_context_bytes: 1_000_000_000,
        most_context_turns: 1_000,
        prepared: prepareRequest(
          {
            model,
            input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
            ...(streams && { stream: true }),
            ...(previous !== undefined && { previous_response_id: previous }),
            ...(promptCacheKey !== undefined && { prompt_cache_key: promptCacheKey }),
            background,
          },
          { withDigest: false },
        ),
        tokens: { input: 1, output: 1, mostInput: undefined },
        isWatched: !background,
        ownLimits: {},
        limits: { service: { queued: 100_000, queuedBytes: 1_000_000_000 } },
        idempotency: undefined,
        deadline: () => Date.now() + 3_600_000,
      });
      if (accepted.kind !== 'accepted') throw new Error(`not accepted: ${accepted.kind}`);
      if (isNoted) await store.noteJob(responseId);
      if (!withoutJob) await queue.enqueue(name, responseId, accepted.priority ?? 1);
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
      const logged = await store.readEvents(responseId, -1, 10_000);
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
