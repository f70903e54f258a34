import type { RedisSubscriber } from './connection.ts';

/** How long a Redis that refuses is left alone on a connection that stays, in milliseconds. */
const askAgainMs = 2_000;

/**
 * Resolves when messages of the channels arrive, as long as that takes. A Redis that refuses for now, because its password was changed for instance, is
 * asked again with each connection that it takes, and every few seconds.
 *
 * Rejects when the client is closed, and when its user may not use the channels (NOPERM): an operator has to mend that, and is to hear of it.
 */
export async function subscribeOnceTaken(
  subscriber: RedisSubscriber,
  channels: readonly string[],
): Promise<void> {
  for (;;) {
    const changed = Promise.withResolvers<void>();
    subscriber.on('ready', changed.resolve);
    subscriber.on('end', changed.resolve);
    let again: NodeJS.Timeout | undefined;
    try {
      await subscriber.subscribe(...channels);
      return;
    } catch (error) {
      if (subscriber.status === 'end' || !mayPass(error)) throw error;
      again = setTimeout(changed.resolve, askAgainMs);
      await changed.promise;
    } finally {
      clearTimeout(again);
      subscriber.off('ready', changed.resolve);
      subscriber.off('end', changed.resolve);
    }
  }
}

/** Whether a Redis may take later what it has refused: its user has no permission until an operator gives it, and a command is known or not. */
function mayPass(error: unknown): boolean {
  return !(error instanceof Error && /^(NOPERM|ERR)\b/.test(error.message));
}
