import type { Redis } from 'ioredis';

/**
 * Makes a client listen at the shard of its channels, also at the next primary when their slot has gone to it. Messages come as any others.
 *
 * @returns what subscribes to channels.
 */
export function listenAtShard(redis: Redis): (...channels: string[]) => Promise<unknown> {
  const all = new Set<string>();
  redis.on('smessage', (channel: string, message: string) => redis.emit('message', channel, message));
  // The server has ended a subscription. Another connection finds where the slot is now.
  redis.on('moved', () => redis.disconnect(true));
  redis.on('ready', () => {
    if (all.size === 0) return;
    // A cluster that is not whole refuses it. Another connection asks again.
    redis.ssubscribe(...all).catch(() => {
      if (redis.status === 'ready') redis.disconnect(true);
    });
  });
  return (...channels) => {
    for (const channel of channels) all.add(channel);
    return redis.ssubscribe(...channels);
  };
}
