import { randomUUID } from 'node:crypto';
import type { Settings } from '@sluice/config';
import {
  AttemptStore,
  type AttemptStoreOptions,
  CallerStore,
  type CallerStoreOptions,
  ResponseStore,
  type ResponseStoreOptions,
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
export interface Role<Clients extends { commands: Redis }, Store extends ResponseStore> {
  clients: (settings: ConnectedSettings, options: RedisClientOptions) => Clients;
  store: (parts: StoreParts<Clients>) => Store;
  /** Whether it knows the queues and keeps the journal; a process beside a worker leaves both to it. */
  hasQueues: boolean;
}

interface StoreParts<Clients> {
  settings: ConnectedSettings;
  clients: Clients;
  clock: RedisClock;
  /** The same for every store. */
  common: Pick<ResponseStoreOptions, 'keyPrefix' | 'retention' | 'onLetIn' | 'onQueuedEnd' | 'outbox'>;
}

export type ApiRoleOptions = Pick<CallerStoreOptions, 'leaseOver' | 'onError'>;

/** An api process, which watches responses for its callers. */
export function apiRole(options: ApiRoleOptions): Role<ApiClients, CallerStore> {
  return {
    clients: ({ redisUrl, durability }, more) =>
      apiClients(redisUrl, { ...more, hasBarrier: durability !== 'local' }),
    store: ({ settings: { durability, timeouts }, clients, common }) => {
      const { barrier, ...connections } = clients;
      const withinMs = timeouts.durabilityMs;
      return new CallerStore({
        ...connections,
        ...common,
        ...options,
        ...(barrier &&
          durability !== 'local' && { durability: { durability, connection: barrier, withinMs } }),
        processId: randomUUID(),
      });
    },
    hasQueues: true,
  };
}

export type RunnerRoleOptions = Pick<
  AttemptStoreOptions,
  'processId' | 'onEndAskedFor' | 'roomForInput' | 'keptTurnsBytes' | 'onError'
>;

/** A worker process, which runs attempts and takes their jobs. */
export function workerRole(options: RunnerRoleOptions): Role<WorkerClients, AttemptStore> {
  return {
    clients: ({ redisUrl }, more) => workerClients(redisUrl, more),
    store: (parts) => attemptStore(parts, options),
    hasQueues: true,
  };
}

/** A process beside a worker, which runs one attempt that may end it. */
export function isolatedRole(options: RunnerRoleOptions): Role<RunnerClients, AttemptStore> {
  return {
    clients: ({ redisUrl }, more) => runnerClients(redisUrl, more),
    store: (parts) => attemptStore(parts, options),
    hasQueues: false,
  };
}

/** A command of an operator, which works whether an api runs or not. */
export function operatorRole(): Role<OperatorClients, ResponseStore> {
  return {
    clients: ({ redisUrl }, more) => operatorClients(redisUrl, more),
    store: ({ clients, common }) => new ResponseStore({ ...clients, ...common }),
    hasQueues: true,
  };
}

/** A process counts as alive for this share of the time that a job's lock lasts without a renewal. */
const leaseShare = 1 / 2;

function attemptStore(
  { settings, clients, clock, common }: StoreParts<RunnerClients>,
  options: RunnerRoleOptions,
): AttemptStore {
  const { limits, timeouts, recovery } = settings;
  return new AttemptStore({
    ...clients,
    ...common,
    ...options,
    now: () => (clock.isSynchronized ? clock.now() : undefined),
    totalMs: timeouts.totalMs,
    maxAttempts: recovery.maxAttempts,
    context: { bytes: limits.contextBytes, turns: limits.contextTurns },
    leaseMs: recovery.lockMs * leaseShare,
  });
}
