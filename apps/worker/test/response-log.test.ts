import { randomBytes } from 'node:crypto';
import { newResponseId } from '@sluice/contract';
import { AttemptStore } from '@sluice/response-store';
import { testRedis } from '@sluice/testing';
import { acceptedResponses } from './accepted-responses.ts';
import { MemoryLog } from './memory-log.ts';
import { responseLogConformance } from './response-log-conformance.ts';

responseLogConformance('the response store', async ({ streams }) => {
  const redis = await testRedis();
  const accepted = await acceptedResponses(redis, 'm');
  const { client } = redis;
  const log = new AttemptStore({
    commands: client,
    control: client,
    bulk: client,
    largeValues: client,
    subscriber: redis.connect(),
    keyPrefix: `${redis.prefix}:`,
    retention: { responseSeconds: 600, eventLogSeconds: 600 },
    processId: 'w',
    totalMs: 60_000,
    maxAttempts: 2,
    context: { bytes: 1_000_000_000, turns: 1_000 },
    leaseMs: 5_000,
    onError: () => undefined,
    onEndAskedFor: () => undefined,
  });
  const responseId = await accepted.accept({ streams, withoutJob: true });
  return {
    log,
    responseId,
    cancel: async () => {
      await accepted.store.cancel(responseId, 'requested');
    },
    close: async () => {
      await accepted.close();
      await redis.close();
    },
  };
});

responseLogConformance('the log in memory', ({ streams }) => {
  const responseId = newResponseId(randomBytes);
  const log = new MemoryLog({
    id: responseId,
    tenant: 'team',
    status: 'in_progress',
    request: { model: 'm', stream: streams },
    largeRequestBytes: 0,
    serviceTier: 'default',
    queue: 'm',
    inputBytes: 0,
    inputTokens: 0,
    previousId: undefined,
    acceptedAt: 1_000,
    startedAt: 2_000,
    isEnqueued: true,
    streams,
    sequenceNumber: 2,
    end: undefined,
    longEndBytes: 0,
    input: [],
    token: '',
    attempt: 0,
    isFirstClaim: true,
    losses: 0,
    maxAttempts: 2,
    requestId: 'req_1',
    mostOutputTokens: undefined,
    remainingMs: 60_000,
  });
  return Promise.resolve({
    log,
    responseId,
    cancel: () => {
      log.isCancelled = true;
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  });
});
