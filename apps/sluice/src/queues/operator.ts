import type { DeliveryQueueOptions, ResponseQueues } from '@sluice/queue';
import type { ResponseStores } from '@sluice/response-store';
import { createLogger, requireRedis, waitForRedis } from '@sluice/runtime';
import { recorderOf } from '@sluice/service-stats';
import {
  closeConnections,
  connect,
  type ConnectedSettings,
  type LiveModels,
  ModelChanges,
  ModelDiscovery,
  ModelStore,
  openModels,
  type OperatorClients,
  operatorRole,
  ProviderChanges,
  StoredWatch,
  type Wired,
} from '@sluice/wiring';

/** The store and the queues as an operator reaches them: over Redis itself, whether an api runs or not. */
export interface Operator
  extends Omit<Wired<OperatorClients, ResponseStores>, 'clients' | 'journal' | 'letInAll' | 'queue'> {
  /** For commands. */
  connection: DeliveryQueueOptions['connection'];
  queues: ResponseQueues;
  /** The models of the settings, the stored ones, and those that upstreams list. */
  models: LiveModels;
  modelChanges: ModelChanges;
  providerChanges: ProviderChanges;
  discovery: ModelDiscovery;
  /** Names of their queues, as the settings have them. */
  names: string[];
  /** The store's clock, in milliseconds. */
  now: () => number;
  [Symbol.asyncDispose]: () => Promise<void>;
}

/** How long cells beside the first one have for their connection, in milliseconds. */
const cellsWithinMs = 2_000;

/** @throws {FatalError} that says what to change, when Redis cannot be used. */
export async function openOperator(settings: ConnectedSettings): Promise<Operator> {
  const logger = createLogger({ name: 'operator', level: 'silent' });
  const wired = connect(settings, operatorRole(), {
    logger,
    onQueueError: () => undefined, // Each command says by itself when it fails.
    onListenerError: (error) => {
      throw error;
    },
  });
  const { clients, clock, telemetry, queue, keyPrefix } = wired;
  try {
    await requireRedis(clients.commands, {
      url: wired.cells.first.url,
      logger,
      signal: new AbortController().signal,
    });
  } catch (error) {
    await closeConnections(wired);
    throw error;
  }
  await wired.cellWatch.look();
  // A cell that is away is known to be once it has had a moment to answer.
  const soon = AbortSignal.timeout(cellsWithinMs);
  await Promise.all(
    wired.cells.all.map((cell) => waitForRedis(cell.clients.commands, soon).catch(() => undefined)),
  );
  for (const cell of wired.cells.all) await cell.clock.start();
  const models = openModels(settings, queue);
  const connection = clients.commands;
  const discovery = new ModelDiscovery({ live: models, clock, connection, keyPrefix, logger });
  const stored = {
    store: new ModelStore({ connection, keyPrefix }),
    file: () => models.file,
    timeouts: settings.timeouts,
  };
  await new StoredWatch({ store: stored.store, live: models, logger }).look();
  await discovery.look();
  const recorder = recorderOf({
    isOn: settings.console.statistics,
    connection,
    keyPrefix,
    telemetry,
    hasModel: (id) => models.serves(id),
    clock,
    logger,
  });
  recorder?.start();
  return {
    ...wired,
    connection,
    queues: queue,
    models,
    modelChanges: new ModelChanges(stored),
    providerChanges: new ProviderChanges(stored),
    discovery,
    names: [...new Set(models.models.map((model) => model.queue))],
    now: () => clock.now(),
    telemetry,
    async [Symbol.asyncDispose]() {
      await recorder?.stop();
      await closeConnections(wired);
    },
  };
}
