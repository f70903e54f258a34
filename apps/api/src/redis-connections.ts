import {
  bulkReadClient,
  commandClient,
  largeValueClient,
  type RedisClientOptions,
  subscriberClient,
  writerClient,
} from '@sluice/runtime';

export type RedisConnections = ReturnType<typeof redisConnections>;

/** The connections of an api, one for each role; see `runtime/src/redis-clients.ts`. */
export function redisConnections(
  url: string,
  { hasBarrier, ...options }: RedisClientOptions & { hasBarrier: boolean },
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
