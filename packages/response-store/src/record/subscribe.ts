import type { RedisSubscriber } from './connection.ts';

/**
 * Resolves when messages of the channels arrive, as long as that takes. A Redis that refuses, because its password was changed for instance, is asked
 * again with each connection that it takes. Rejects when the client is closed.
 */
export async function subscribeOnceTaken(
  subscriber: RedisSubscriber,
  channels: readonly string[],
): Promise<void> {
  for (;;) {
    const changed = Promise.withResolvers<void>();
    subscriber.on('ready', changed.resolve);
    subscriber.on('end', changed.resolve);
    try {
      await subscriber.subscribe(...channels);
      return;
    } catch (error) {
      if (subscriber.status === 'end') throw error;
      await changed.promise;
    } finally {
      subscriber.off('ready', changed.resolve);
      subscriber.off('end', changed.resolve);
    }
  }
}
