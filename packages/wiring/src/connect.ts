import type { Settings } from '@sluice/config';
import { type JournalWriter, openJournal, queuedEndFact } from '@sluice/journal';
import { queueName, ResponseQueue } from '@sluice/queue';
import { defaultCell, type LetIn, type ResponseStore } from '@sluice/response-store';
import {
  closeRedis,
  type Logger,
  RedisClock,
  RedisWatch,
  Telemetry,
  throttledWarning,
} from '@sluice/runtime';
import type { Redis } from 'ioredis';
import { outboxWriting } from './outbox-readers.ts';
import type { ConnectedSettings, Role } from './roles.ts';

/** The parts that every process of the service has in common, connected with each other but not started. */
export interface Wired<Clients, Store> {
  clients: Clients;
  clock: RedisClock;
  telemetry: Telemetry;
  store: Store;
  /** Starts every key of the cell, BullMQ's too. */
  keyPrefix: string;
  /** Knows no queue in a process that leaves them to the worker beside it. */
  queue: ResponseQueue;
  /** Moves the jobs of responses into their queues, and tells of it. */
  letInAll: (letIn: readonly LetIn[]) => void;
  /** Undefined when none is kept. */
  journal: JournalWriter | undefined;
}

export interface ConnectOptions<Clients> {
  logger: Logger;
  /** In place of the connections of the role. */
  clients?: Clients | undefined;
  /** In place of the queue of this process. */
  letInAll?: (letIn: readonly LetIn[]) => void;
  /** Told of errors of the queues' connections. */
  onQueueError: (error: Error) => void;
  /** Told of a listener of the telemetry that threw; logged by default. */
  onListenerError?: (error: unknown) => void;
}

/**
 * Connects a process of the service: its clients by purpose, the store's clock, the telemetry, the store and the queues, and the
 * journal, which listens to the telemetry. Nothing is sent before a part is started or used.
 *
 * Every composition begins here: that of the api, of the worker and of what it isolates, of an operator's command, and of the tests.
 */
export function connect<Clients extends { commands: Redis }, Store extends ResponseStore>(
  settings: ConnectedSettings,
  role: Role<Clients, Store>,
  { logger, onQueueError, ...options }: ConnectOptions<Clients>,
): Wired<Clients, Store> {
  const clients = options.clients ?? role.clients(settings, { logger });
  const { commands } = clients;
  const clock = new RedisClock({ client: commands, logger });
  const telemetry = new Telemetry(
    options.onListenerError ?? ((error) => logger.error({ err: error }, 'telemetry listener failed')),
  );
  const intoQueue = (letIn: readonly LetIn[]) => {
    for (const { responseId } of letIn) telemetry.emit('response.let_in', { responseId });
    queue.letInAll(letIn);
  };
  const { letInAll = intoQueue } = options;
  const store = role.store({
    settings,
    clients,
    clock,
    common: {
      keyPrefix: settings.keyPrefix,
      retention: settings.retention,
      onLetIn: letInAll,
      outbox: outboxWriting(settings),
      onQueuedEnd: (ended) => telemetry.emit('response.ended', queuedEndFact(ended)),
    },
  });
  const { prefix: keyPrefix } = store.keys.inCell(defaultCell);
  const queue = new ResponseQueue({
    connection: commands,
    keyPrefix,
    names: role.hasQueues ? queueNames(settings) : [],
    onError: onQueueError,
    onLetInFailed: throttledWarning(logger, 'response not let into its queue').warn,
  });
  const journal = openJournal(telemetry, {
    connection: commands,
    keyPrefix,
    settings: { ...settings.console, journal: settings.console.journal && role.hasQueues },
    now: () => clock.now(),
    onDropped: throttledWarning(logger, 'journal not written').warn,
  });
  return { clients, clock, telemetry, store, keyPrefix, queue, letInAll, journal };
}

/** Watches the Redis of a process over all of its connections. Start what it returns. */
export function watchRedis(
  { clients, store }: Wired<{ commands: Redis }, ResponseStore>,
  settings: ConnectedSettings,
  { logger, ...options }: { logger: Logger; durability?: Settings['durability'] },
): RedisWatch {
  const { commands, ...others } = clients;
  return new RedisWatch({
    ...options,
    url: settings.redisUrl,
    commands,
    others: Object.values(others),
    probeKey: store.keys.inCell(defaultCell).probe,
    logger,
  });
}

/**
 * Writes what the journal still has, and closes every connection. The process calls nothing of what was connected any more, and has
 * stopped its store.
 */
export async function closeConnections({
  queue,
  journal,
  clock,
  clients,
}: Wired<Record<string, Redis>, ResponseStore>): Promise<void> {
  await queue.close();
  await journal?.stop();
  clock.stop();
  await Promise.all(Object.values(clients).map((client) => closeRedis(client)));
}

/** Models may share a queue. */
function queueNames({ models }: Settings): string[] {
  return [...new Set(models.map(({ queue }) => queueName(queue)))];
}
