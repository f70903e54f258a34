import type { ResponseQueue } from '@sluice/queue';
import type { ResponseStore } from '@sluice/response-store';
import { createLogger, requireRedis, type Telemetry } from '@sluice/runtime';
import { recorderOf } from '@sluice/service-stats';
import { closeConnections, connect, type ConnectedSettings, operatorRole } from '@sluice/wiring';

/** The store and the queues as an operator reaches them: over Redis itself, whether an api runs or not. */
export interface Operator {
  store: ResponseStore;
  queues: ResponseQueue;
  /** Names of the queues in the settings, as they are written there. */
  names: string[];
  /** Its events are written to the journal, like those of processes of the service. */
  telemetry: Telemetry;
  [Symbol.asyncDispose]: () => Promise<void>;
}

/** @throws {FatalError} that says what to change, when Redis cannot be used. */
export async function openOperator(settings: ConnectedSettings): Promise<Operator> {
  const { redisUrl: url, models } = settings;
  const logger = createLogger({ name: 'operator', level: 'silent' });
  const wired = connect(settings, operatorRole(), {
    logger,
    onQueueError: () => undefined, // Each command says by itself when it fails.
    onListenerError: (error) => {
      throw error;
    },
  });
  const { clients, clock, telemetry, store, queue, keyPrefix } = wired;
  try {
    await requireRedis(clients.commands, { url, logger, signal: new AbortController().signal });
  } catch (error) {
    await closeConnections(wired);
    throw error;
  }
  await clock.start();
  const recorder = recorderOf({
    isOn: settings.console.statistics,
    connection: clients.commands,
    keyPrefix,
    telemetry,
    hasModel: (id) => models.some((model) => model.id === id),
    clock,
    logger,
  });
  recorder?.start();
  return {
    store,
    queues: queue,
    names: [...new Set(models.map((model) => model.queue))],
    telemetry,
    async [Symbol.asyncDispose]() {
      await recorder?.stop();
      await closeConnections(wired);
    },
  };
}
