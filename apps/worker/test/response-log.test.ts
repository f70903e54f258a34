import { AttemptStore } from '@sluice/response-store';
import { testRedis } from '@sluice/testing';
import { acceptedResponses } from './accepted-responses.ts';
import { MemoryLog, unclaimedRecord } from './memory-log.ts';
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
  const log = new MemoryLog(unclaimedRecord({ request: { model: 'm', stream: streams }, streams }));
  return Promise.resolve({
    log,
    responseId: log.id,
    cancel: () => {
      log.isCancelled = true;
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  });
});
