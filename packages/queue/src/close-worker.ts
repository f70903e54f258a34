import type { Worker } from 'bullmq';
import type { Redis } from 'ioredis';

/** How often to look at a worker that is closing, in milliseconds. */
const nudgeEveryMs = 100;

/**
 * Closes a BullMQ worker, also while Redis is away. `connection`: the one that it shares with others, cut once nothing of the
 * process needs it; undefined when the others go on. BullMQ cuts its blocking connection and waits until that has ended. It
 * also waits for the reply to a fetch, or to the end of a job. Once no job runs, replies that will not come are given up. A
 * job whose end was not confirmed is delivered again, and its claim finds nothing to do.
 */
export async function closeWorker(
  worker: Worker,
  connection: Redis | undefined,
  isIdle: () => boolean,
): Promise<void> {
  const blocking = blockingClientOf(worker);
  const nudge = setInterval(() => {
    if (blocking) endIfAway(blocking);
    if (connection && isIdle()) endIfAway(connection);
  }, nudgeEveryMs);
  try {
    await worker.close();
  } finally {
    clearInterval(nudge);
  }
}

/** The members of a client that a stop uses. */
type EndableClient = Pick<Redis, 'status' | 'connect' | 'disconnect'>;

/** Reads the blocking client directly: BullMQ's promise of it waits until it was ready, which may never happen while Redis is away. */
function blockingClientOf({ backend }: Worker): EndableClient | undefined {
  const { blockingConnection } = backend;
  // A protected member of BullMQ's class, set by its constructor to a client that ioredis made.
  return blockingConnection && (Reflect.get(blockingConnection, '_client') as EndableClient | undefined);
}

/**
 * Ends a connection that waits to reconnect. It has no socket to cut and would never end (ioredis), so it is made to connect,
 * and that connect is cut.
 */
function endIfAway(client: EndableClient): void {
  if (client.status !== 'reconnecting') return;
  client.connect().catch(() => undefined);
  client.disconnect();
}
