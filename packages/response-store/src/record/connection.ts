import type { Redis } from 'ioredis';

/** The commands the store sends. A connection to one server and one to a cluster both have them. */
export type RedisCommands = Pick<
  Redis,
  | 'evalsha'
  | 'eval'
  | 'hmget'
  | 'hgetall'
  | 'hkeys'
  | 'hstrlen'
  | 'get'
  | 'set'
  | 'del'
  | 'unlink'
  | 'exists'
  | 'smembers'
  | 'scard'
  | 'time'
  | 'zcount'
  | 'zmscore'
  | 'xrange'
  | 'zrange'
  | 'zrangebyscore'
  | 'zrevrange'
  | 'zrevrank'
  | 'zrem'
  | 'on'
  | 'off'
> & {
  /** The command by which scripts publish: `SPUBLISH` to the shard of a cluster, `PUBLISH` by default. */
  publishCommand?: 'PUBLISH' | 'SPUBLISH';
};

/** A connection for values that may be large, which no other command waits behind. */
export type LargeValueConnection = Pick<
  Redis,
  'set' | 'multi' | 'hmget' | 'hgetBuffer' | 'getrangeBuffer' | 'disconnect'
>;

/** A connection of its own for messages. */
export type RedisSubscriber = Pick<Redis, 'subscribe' | 'on' | 'off' | 'status'>;
