import type { Settings } from '@sluice/config';
import { type JournalWriter, openJournal, queuedEndFact } from '@sluice/journal';
import { queueName, queuesOfCells, ResponseQueue, type ResponseQueues } from '@sluice/queue';
import type { Cell, LetIn, ResponseStore } from '@sluice/response-store';
import {
  awaitRedis,
  closeRedis,
  type Logger,
  parseRedisCells,
  RedisClock,
  Telemetry,
  throttledWarning,
} from '@sluice/runtime';
import type { Redis } from 'ioredis';
import { cellsInUse, type CellTopology, cellTopology } from './cells/cell-topology.ts';
import { untilUsable } from './cells/until-usable.ts';
import { outboxWriting } from './outbox-readers.ts';
import type { ConnectedSettings, Role } from './roles.ts';

/** A cell of the store as a process is connected with it. */
export interface WiredCell<Clients, Store> {
  name: Cell;
  /** The address of its primary. */
  url: string;
  clients: Clients;
  clock: RedisClock;
  store: Store;
  /** Starts every key of the cell, BullMQ's too. */
  keyPrefix: string;
  /** Knows no queue in a process that leaves them to the worker beside it. */
  queue: ResponseQueue;
}

/**
 * The parts that every process of the service has in common, connected with each other but not started. Clients, clock and the prefix of keys are
 * those of the first cell, which has what belongs to no response: keys, models, the journal, acts of operators.
 */
export interface Wired<Clients, Stores> extends CellTopology<WiredCell<Clients, Stores>> {
  clients: Clients;
  clock: RedisClock;
  telemetry: Telemetry;
  /** The stores of all cells as one. */
  store: Stores;
  keyPrefix: string;
  /** The queues of all cells as one. */
  queue: ResponseQueues;
  /** Moves the jobs of responses into their queues, and tells of it. */
  letInAll: (letIn: readonly LetIn[]) => void;
  /** Undefined when none is kept. */
  journal: JournalWriter | undefined;
}

export interface ConnectOptions<Clients> {
  logger: Logger;
  /** In place of the connections of the role to the first cell. */
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
export function connect<Clients extends { commands: Redis }, Store extends ResponseStore & Stores, Stores>(
  settings: ConnectedSettings,
  role: Role<Clients, Store, Stores>,
  { logger, onQueueError, ...options }: ConnectOptions<Clients>,
): Wired<Clients, Stores> {
  const telemetry = new Telemetry(
    options.onListenerError ?? ((error) => logger.error({ err: error }, 'telemetry listener failed')),
  );
  const intoQueue = (letIn: readonly LetIn[]) => {
    for (const { responseId } of letIn) telemetry.emit('response.let_in', { responseId });
    queue.letInAll(letIn);
  };
  const { letInAll = intoQueue } = options;
  const found = parseRedisCells(settings.redisUrl);
  const connecting = {
    settings,
    role,
    logger,
    onQueueError,
    telemetry,
    letInAll,
    cellCount: () => connected,
  };
  let connected = found.length;
  const [first, ...others] = found.map((cell, at) =>
    connectCell(cell, { ...connecting, clients: at === 0 ? options.clients : undefined }),
  );
  if (!first) throw new RangeError('REDIS_URL has no address');
  const topology = cellTopology<WiredCell<Clients, Store>>({
    settings,
    found,
    first,
    others,
    logger,
    role: role.name,
    connect: (cell) => {
      const joined = connectCell(cell, connecting);
      joined.queue.setNames(first.queue.names);
      return joined;
    },
    start: async (cell, signal) => {
      // One that cannot give what the settings ask for is not used before it can.
      const { name, url, clients } = cell;
      const toFind = { url, durability: settings.durability, logger, signal };
      await untilUsable(() => awaitRedis(clients.commands, toFind), { name, url, logger, signal });
      // The process may have ended, or the cell may be gone, just as its Redis answered.
      signal.throwIfAborted();
      await Promise.all([cell.clock.start(), role.start(cell.store)]);
    },
    stop: async (cell) => {
      await role.stop(cell.store);
      await closeCell(cell);
    },
  });
  const { cells } = topology;
  const stores = new Map<Cell, Store>();
  cells.follow({
    join: ({ name, store }) => {
      stores.set(name, store);
      connected = cells.all.length;
    },
    leave: ({ name }) => {
      stores.delete(name);
      connected = cells.all.length;
    },
  });
  const queue = uniteQueues(topology);
  const { clients, clock, keyPrefix } = first;
  const journal = openJournal(telemetry, {
    connection: clients.commands,
    keyPrefix,
    settings: { ...settings.console, journal: settings.console.journal && role.hasQueues },
    now: () => clock.now(),
    onDropped: throttledWarning(logger, 'journal not written').warn,
  });
  const store = role.unite(settings.keyPrefix, stores, cellsInUse(topology));
  return { ...topology, clients, clock, telemetry, store, keyPrefix, queue, letInAll, journal };
}

/** A cell that joins has nothing yet, and may not answer. What is paused or resumed meanwhile, the apis make so in it before it opens. */
function uniteQueues({
  cells,
  states,
}: Pick<CellTopology<{ name: string; queue: ResponseQueue }>, 'cells' | 'states'>): ResponseQueues {
  const added = () => cells.all.slice(1);
  const hasJoined = ({ name }: { name: string }) => states.of(name) !== 'joining';
  return queuesOfCells({
    all: () => [cells.first.queue, ...added().map(({ queue }) => queue)],
    asked: () => [
      cells.first.queue,
      ...added()
        .filter(hasJoined)
        .map(({ queue }) => queue),
    ],
    of: (responseId) => cells.of(responseId).queue,
  });
}

interface CellConnecting<Clients extends { commands: Redis }, Store extends ResponseStore, Stores>
  extends Pick<ConnectOptions<Clients>, 'logger' | 'onQueueError' | 'clients'> {
  settings: ConnectedSettings;
  role: Role<Clients, Store, Stores>;
  telemetry: Telemetry;
  letInAll: (letIn: readonly LetIn[]) => void;
  /** How many cells there are. */
  cellCount: () => number;
}

/** Connects a process to one cell. */
function connectCell<Clients extends { commands: Redis }, Store extends ResponseStore, Stores>(
  { name, url }: { name: string; url: string },
  {
    settings,
    role,
    logger,
    onQueueError,
    telemetry,
    letInAll,
    ...given
  }: CellConnecting<Clients, Store, Stores>,
): WiredCell<Clients, Store> {
  const clients = given.clients ?? role.clients(url, settings, { logger });
  const clock = new RedisClock({ client: clients.commands, logger });
  const common = {
    keyPrefix: settings.keyPrefix,
    cells: [name],
    retention: settings.retention,
    onLetIn: letInAll,
    outbox: outboxWriting(settings),
    onQueuedEnd: (ended: Parameters<typeof queuedEndFact>[0]) =>
      telemetry.emit('response.ended', queuedEndFact(ended)),
  };
  const store = role.store({ settings, url, cellCount: given.cellCount, clients, clock, common });
  const { prefix: keyPrefix } = store.keys.inCell(name);
  const queue = new ResponseQueue({
    connection: clients.commands,
    keyPrefix,
    names: role.hasQueues ? queueNames(settings) : [],
    onError: onQueueError,
    onLetInFailed: throttledWarning(logger, 'response not let into its queue').warn,
  });
  return { name, url, clients, clock, store, keyPrefix, queue };
}

/**
 * Writes what the journal still has, and closes every connection. The process calls nothing of what was connected any more, and has
 * stopped its store.
 */
export async function closeConnections({
  cellWatch,
  cellCounts,
  journal,
  cells,
}: Pick<
  Wired<Record<string, Redis | undefined>, unknown>,
  'cellWatch' | 'cellCounts' | 'journal' | 'cells'
>): Promise<void> {
  await cellWatch.stop();
  await cellCounts.stop();
  await Promise.all(cells.all.map(({ queue }) => queue.close()));
  await journal?.stop();
  await Promise.all(cells.all.map((cell) => closeCell(cell)));
}

async function closeCell({
  clients,
  clock,
  queue,
}: Pick<
  WiredCell<Record<string, Redis | undefined>, unknown>,
  'clients' | 'clock' | 'queue'
>): Promise<void> {
  await queue.close();
  clock.stop();
  await Promise.all(Object.values(clients).flatMap((client) => (client ? closeRedis(client) : [])));
}

/** Models may share a queue. */
function queueNames({ models }: Settings): string[] {
  return [...new Set(models.map(({ queue }) => queueName(queue)))];
}
