import type { Settings } from '@sluice/config';
import { type JournalWriter, openJournal, queuedEndFact } from '@sluice/journal';
import { queueName, queuesOfCells, ResponseQueue, type ResponseQueues } from '@sluice/queue';
import { type Cell, cellOf, type LetIn, type ResponseStore } from '@sluice/response-store';
import {
  closeRedis,
  type Logger,
  parseRedisCells,
  RedisClock,
  type RedisCell,
  Telemetry,
  throttledWarning,
} from '@sluice/runtime';
import type { Redis } from 'ioredis';
import { StoredCellCounts } from './stored-cell-counts.ts';
import { KnownCells } from './known-cells.ts';
import { outboxWriting } from './outbox-readers.ts';
import type { ConnectedSettings, Role } from './roles.ts';

/** A cell of the store as a process is connected with it. */
export interface WiredCell<Clients, Store> {
  name: Cell;
  /** The address of its primary. */
  url: string;
  /** Whether it takes no new responses. */
  isDraining: boolean;
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
export interface Wired<Clients, Stores> {
  clients: Clients;
  clock: RedisClock;
  telemetry: Telemetry;
  /** The stores of all cells as one. */
  store: Stores;
  keyPrefix: string;
  /** The queues of all cells as one. */
  queue: ResponseQueues;
  cells: readonly [WiredCell<Clients, Stores>, ...WiredCell<Clients, Stores>[]];
  /** The cell of a response; the first one for an id that names none. */
  cellOf: (responseId: string) => WiredCell<Clients, Stores>;
  /** Which cells there are and were. */
  known: KnownCells;
  /** How many cells tenants were divided among. */
  cellCounts: StoredCellCounts;
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
  const connecting = { settings, role, logger, onQueueError, telemetry, letInAll, cellCount: found.length };
  const [first, ...others] = found.map((cell, at) =>
    connectCell(cell, { ...connecting, clients: at === 0 ? options.clients : undefined }),
  );
  if (!first) throw new RangeError('REDIS_URL has no address');
  const cells = [first, ...others] as const;
  const byName = new Map(cells.map((cell) => [cell.name, cell]));
  const find = (responseId: string) => byName.get(cellOf(responseId)) ?? first;
  const queue: ResponseQueues =
    others.length === 0
      ? first.queue
      : queuesOfCells(
          [first.queue, ...others.map((cell) => cell.queue)],
          (responseId) => find(responseId).queue,
        );
  const { clients, clock, keyPrefix } = first;
  const journal = openJournal(telemetry, {
    connection: clients.commands,
    keyPrefix,
    settings: { ...settings.console, journal: settings.console.journal && role.hasQueues },
    now: () => clock.now(),
    onDropped: throttledWarning(logger, 'journal not written').warn,
  });
  const open = found.filter(({ isDraining }) => !isDraining).map(({ name }) => name);
  const known = new KnownCells({ connection: clients.commands, keyPrefix, found, settings, logger });
  const former = () => known.former;
  const cellCounts = new StoredCellCounts({ connection: clients.commands, keyPrefix, settings, logger });
  const store =
    others.length === 0
      ? first.store
      : role.unite(settings.keyPrefix, new Map(cells.map((cell) => [cell.name, cell.store])), {
          open,
          former,
          areFormerKnown: () => known.isKnown && cellCounts.isKnown,
          cellCounts,
          onUse: (cell) => known.use(cell),
        });
  return {
    clients,
    clock,
    telemetry,
    store,
    keyPrefix,
    queue,
    cells,
    cellOf: find,
    known,
    cellCounts,
    letInAll,
    journal,
  };
}

interface CellConnecting<Clients extends { commands: Redis }, Store extends ResponseStore, Stores>
  extends Pick<ConnectOptions<Clients>, 'logger' | 'onQueueError' | 'clients'> {
  settings: ConnectedSettings;
  role: Role<Clients, Store, Stores>;
  telemetry: Telemetry;
  letInAll: (letIn: readonly LetIn[]) => void;
  /** How many cells there are. */
  cellCount: number;
}

/** Connects a process to one cell. */
function connectCell<Clients extends { commands: Redis }, Store extends ResponseStore, Stores>(
  { name, url, isDraining }: RedisCell,
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
  return { name, url, isDraining, clients, clock, store, keyPrefix, queue };
}

/**
 * Writes what the journal still has, and closes every connection. The process calls nothing of what was connected any more, and has
 * stopped its store.
 */
export async function closeConnections({
  known,
  cellCounts,
  queue,
  journal,
  cells,
}: Pick<
  Wired<Record<string, Redis | undefined>, unknown>,
  'known' | 'cellCounts' | 'queue' | 'journal' | 'cells'
>): Promise<void> {
  known.stop();
  await cellCounts.stop();
  await queue.close();
  await journal?.stop();
  for (const { clock } of cells) clock.stop();
  const clients = cells.flatMap((cell) => Object.values(cell.clients).flatMap((client) => client ?? []));
  await Promise.all(clients.map((client) => closeRedis(client)));
}

/** Models may share a queue. */
function queueNames({ models }: Settings): string[] {
  return [...new Set(models.map(({ queue }) => queueName(queue)))];
}
