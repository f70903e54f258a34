import type { Redis } from 'ioredis';

/** The commands the store sends. A connection to one server and one to a cluster both have them. */
export type RedisCommands = Pick<
  Redis,
  | 'evalsha'
  | 'eval'
  | 'hmget'
  | 'hgetall'
  | 'get'
  | 'set'
  | 'append'
  | 'del'
  | 'unlink'
  | 'exists'
  | 'xrange'
  | 'zrange'
  | 'zrangebyscore'
  | 'zrevrange'
  | 'zrevrank'
  | 'zrem'
  | 'on'
  | 'off'
>;

/** A connection of its own for messages. */
export type RedisSubscriber = Pick<Redis, 'subscribe' | 'on' | 'off'>;
