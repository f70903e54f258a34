import {
  bulkReadClient,
  commandClient,
  largeValueClient,
  queueClient,
  type RedisClientOptions,
  subscriberClient,
  writerClient,
} from '@sluice/runtime';

/*
 * The connections of each role, one for each purpose; `runtime/src/redis-clients.ts` says what they differ in.
 */

export type ApiClients = ReturnType<typeof apiClients>;
export type RunnerClients = ReturnType<typeof runnerClients>;
export type WorkerClients = ReturnType<typeof workerClients>;
export type OperatorClients = ReturnType<typeof operatorClients>;

/** An api. `hasBarrier`: whether it waits for durability, over a connection of its own. */
export function apiClients(
  url: string,
  { hasBarrier = false, ...options }: RedisClientOptions & { hasBarrier?: boolean },
) {
  return {
    commands: commandClient(url, options),
    bulk: bulkReadClient(url, options),
    largeValues: largeValueClient(url, options),
    longEnds: largeValueClient(url, { ...options, connectionName: 'sluice-long-ends' }),
    subscriber: subscriberClient(url, options),
    ...(hasBarrier && { barrier: writerClient(url, { ...options, connectionName: 'sluice-barrier' }) }),
  };
}

/** A process that runs attempts. */
export function runnerClients(url: string, options: RedisClientOptions) {
  return {
    commands: commandClient(url, options),
    control: writerClient(url, { ...options, connectionName: 'sluice-control' }),
    bulk: writerClient(url, options),
    largeValues: largeValueClient(url, options),
    subscriber: subscriberClient(url, options),
  };
}

/** A worker: it runs attempts, and takes their jobs. */
export function workerClients(url: string, options: RedisClientOptions) {
  return { ...runnerClients(url, options), jobs: queueClient(url, options) };
}

/** A command of an operator. */
export function operatorClients(url: string, options: RedisClientOptions) {
  return { commands: commandClient(url, options), largeValues: largeValueClient(url, options) };
}
