import type { Redis } from 'ioredis';

/** Hands on the messages of shards as any others, and listens at the next primary when the slot has gone to it. */
export function followShard(redis: Redis): void {
  redis.on('smessage', (channel: string, message: string) => redis.emit('message', channel, message));
  const channels = new Set<string>();
  const listen = redis.subscribe.bind(redis) as (...names: string[]) => Promise<unknown>; // as above
  const listening = (...names: string[]) => {
    for (const name of names) channels.add(name);
    return listen(...names);
  };
  redis.subscribe = listening as typeof redis.subscribe;
  // The server has ended the subscription. The client has forgotten it then, and would not take it up again.
  redis.on('moved', () => redis.disconnect(true));
  redis.on('ready', () => {
    if (channels.size === 0) return;
    // A cluster that is not whole refuses it. Another connection asks again.
    listen(...channels).catch(() => {
      if (redis.status === 'ready') redis.disconnect(true);
    });
  });
}
