import {
  bulkReadClient,
  commandClient,
  largeValueClient,
  type RedisClientOptions,
  subscriberClient,
} from '@sluice/runtime';

export type RedisConnections = ReturnType<typeof redisConnections>;

/** The connections of an api, one for each role; see `runtime/src/redis-clients.ts`. */
export function redisConnections(url: string, options: RedisClientOptions) {
  return {
    commands: commandClient(url, options),
    bulk: bulkReadClient(url, options),
    largeValues: largeValueClient(url, options),
    subscriber: subscriberClient(url, options),
  };
}
