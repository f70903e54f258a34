import { randomUUID } from 'node:crypto';
import type { Settings } from '@sluice/config';
import {
  AttemptStore,
  type AttemptStoreOptions,
  type AttemptStores,
  attemptStores,
  CallerStore,
  type CallerStoreOptions,
  type CallerStores,
  callerStores,
  type CellsInUse,
  type Cell,
  type Lease,
  ResponseStore,
  type ResponseStoreOptions,
  type ResponseStores,
  responseStores,
} from '@sluice/response-store';
import type { RedisClientOptions, RedisClock } from '@sluice/runtime';
import type { Redis } from 'ioredis';
import {
  apiClients,
  type ApiClients,
  operatorClients,
  type OperatorClients,
  runnerClients,
  type RunnerClients,
  workerClients,
  type WorkerClients,
} from './clients.ts';

export type ConnectedSettings = Settings & { redisUrl: string };

/** A kind of process: its connections, and the store as it uses it. */
export interface Role<Clients extends { commands: Redis }, Store extends ResponseStore, Stores> {
  /** The connections to the Redis of a cell. */
  clients: (url: string, settings: ConnectedSettings, options: RedisClientOptions) => Clients;
  /** The store of a cell. */
  store: (parts: StoreParts<Clients>) => Store;
  /** The stores of several cells as one. */
  unite: (keyPrefix: string, stores: ReadonlyMap<Cell, Store>, cells: CellsInUse) => Stores;
  /** Starts the store of a cell that joins a process which runs, and stops one that leaves. */
  start: (store: Store) => Promise<void>;
  stop: (store: Store) => Promise<void>;
  /** The kind of process, where others wait for it before a cell opens. */
  name: 'api' | 'worker' | undefined;
  /** Whether it knows the queues and keeps the journal; a process beside a worker leaves both to it. */
  hasQueues: boolean;
}

interface StoreParts<Clients> {
  settings: ConnectedSettings;
  /** The address of the Redis of the cell. */
  url: string;
  /** How many cells there are, which share the memory of the process. */
  cellCount: () => number;
  clients: Clients;
  clock: RedisClock;
  /** The same for every store. */
  common: Pick<
    ResponseStoreOptions,
    'keyPrefix' | 'cells' | 'retention' | 'onLetIn' | 'onQueuedEnd' | 'outbox'
  >;
}

interface StartableStore {
  start: () => Promise<void>;
  stop: () => Promise<void>;
}

const startable = {
  start: (store: StartableStore) => store.start(),
  stop: (store: StartableStore) => store.stop(),
};

export interface ApiRoleOptions extends Pick<CallerStoreOptions, 'onError'> {
  /** Makes the lease of this process in the Redis at `url`; see `CallerStoreOptions`. */
  leaseOver: ((keys: readonly string[], url: string) => Lease) | undefined;
}

/** An api process, which watches responses for its callers. */
export function apiRole({ leaseOver, onError }: ApiRoleOptions): Role<ApiClients, CallerStore, CallerStores> {
  return {
    clients: (url, { durability }, more) => apiClients(url, { ...more, hasBarrier: durability !== 'local' }),
    store: ({ settings: { durability, timeouts }, url, clients, common }) => {
      const { barrier, ...connections } = clients;
      const withinMs = timeouts.durabilityMs;
      return new CallerStore({
        ...connections,
        ...common,
        onError,
        ...(leaseOver && { leaseOver: (keys) => leaseOver(keys, url) }),
        ...(barrier &&
          durability !== 'local' && { durability: { durability, connection: barrier, withinMs } }),
        processId: randomUUID(),
      });
    },
    unite: callerStores,
    ...startable,
    name: 'api',
    hasQueues: true,
  };
}

export interface RunnerRoleOptions
  extends Pick<AttemptStoreOptions, 'processId' | 'onEndAskedFor' | 'roomForInput' | 'onError'> {
  /** Most bytes of memory for the last turns of conversations, in all cells together; none by default. */
  keptTurnsBytes?: number;
}

/** A worker process, which runs attempts and takes their jobs. */
export function workerRole(options: RunnerRoleOptions): Role<WorkerClients, AttemptStore, AttemptStores> {
  return {
    clients: (url, _settings, more) => workerClients(url, more),
    store: (parts) => attemptStore(parts, options),
    unite: attemptStores,
    ...startable,
    name: 'worker',
    hasQueues: true,
  };
}

/** A process beside a worker, which runs one attempt that may end it. */
export function isolatedRole(options: RunnerRoleOptions): Role<RunnerClients, AttemptStore, AttemptStores> {
  return {
    clients: (url, _settings, more) => runnerClients(url, more),
    store: (parts) => attemptStore(parts, options),
    unite: attemptStores,
    ...startable,
    name: undefined,
    hasQueues: false,
  };
}

/** A command of an operator, which works whether an api runs or not. */
export function operatorRole(): Role<OperatorClients, ResponseStore, ResponseStores> {
  return {
    clients: (url, _settings, more) => operatorClients(url, more),
    store: ({ clients, common }) => new ResponseStore({ ...clients, ...common }),
    unite: responseStores,
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    name: undefined,
    hasQueues: true,
  };
}

/** A process counts as alive for this share of the time that a job's lock lasts without a renewal. */
const leaseShare = 1 / 2;

function attemptStore(
  { settings, cellCount, clients, clock, common }: StoreParts<RunnerClients>,
  { keptTurnsBytes = 0, ...options }: RunnerRoleOptions,
): AttemptStore {
  const { limits, timeouts, recovery } = settings;
  return new AttemptStore({
    ...clients,
    ...common,
    ...options,
    keptTurnsBytes: () => keptTurnsBytes / cellCount(),
    now: () => (clock.isSynchronized ? clock.now() : undefined),
    totalMs: timeouts.totalMs,
    maxAttempts: recovery.maxAttempts,
    context: { bytes: limits.contextBytes, turns: limits.contextTurns },
    leaseMs: recovery.lockMs * leaseShare,
  });
}
