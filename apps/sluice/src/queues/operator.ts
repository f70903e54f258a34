import type { Settings } from '@sluice/config';
import { openJournal, queuedEndFact } from '@sluice/journal';
import { queueName, ResponseQueue } from '@sluice/queue';
import { defaultCell, ResponseStore } from '@sluice/response-store';
import {
  closeRedis,
  commandClient,
  createLogger,
  largeValueClient,
  RedisClock,
  requireRedis,
  Telemetry,
} from '@sluice/runtime';
import { recorderOf } from '@sluice/service-stats';

/** The store and the queues as an operator reaches them: over Redis itself, whether an api runs or not. */
export interface Operator {
  store: ResponseStore;
  queues: ResponseQueue;
  /** Names of the queues in the settings, as they are written there. */
  names: string[];
  /** What is told here stands in the journal, as what processes of the service tell. */
  telemetry: Telemetry;
  [Symbol.asyncDispose]: () => Promise<void>;
}

/** @throws {FatalError} that says what to change, when Redis cannot be used. */
export async function openOperator(settings: Settings & { redisUrl: string }): Promise<Operator> {
  const { redisUrl: url, keyPrefix, retention, models } = settings;
  const logger = createLogger({ name: 'operator', level: 'silent' });
  const commands = commandClient(url, { logger });
  const largeValues = largeValueClient(url, { logger });
  const close = () => Promise.all([closeRedis(commands), closeRedis(largeValues)]);
  try {
    await requireRedis(commands, { url, logger, signal: new AbortController().signal });
  } catch (error) {
    await close();
    throw error;
  }
  const clock = new RedisClock({ client: commands, logger });
  await clock.start();
  const telemetry = new Telemetry((error) => {
    throw error;
  });
  const store = new ResponseStore({
    commands,
    largeValues,
    keyPrefix,
    retention,
    onLetIn: (letIn) => queues.letInAll(letIn),
    onQueuedEnd: (ended) => telemetry.emit('response.ended', queuedEndFact(ended)),
  });
  const journal = openJournal(telemetry, {
    connection: commands,
    keyPrefix: store.keys.inCell(defaultCell).prefix,
    settings: settings.console,
    now: () => clock.now(),
  });
  const recorder = recorderOf({
    isOn: settings.console.statistics,
    connection: commands,
    keyPrefix: store.keys.inCell(defaultCell).prefix,
    telemetry,
    models: models.map(({ id }) => id),
    clock,
    logger,
  });
  recorder?.start();
  const names = [...new Set(models.map(({ queue }) => queue))];
  const queues = new ResponseQueue({
    connection: commands,
    keyPrefix: store.keys.inCell(defaultCell).prefix,
    names: names.map(queueName),
    onError: () => undefined, // Each command says by itself when it fails.
  });
  return {
    store,
    queues,
    names,
    telemetry,
    async [Symbol.asyncDispose]() {
      await recorder?.stop();
      clock.stop();
      await queues.close();
      await journal?.stop();
      await close();
    },
  };
}
