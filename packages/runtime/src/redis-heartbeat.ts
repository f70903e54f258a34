import type { Redis } from 'ioredis';

/** How often a connection is looked at, in milliseconds. */
const lookEveryMs = 500;

/**
 * Looks without a byte received after which a connection counts as dead. That is 3.5 s, and 3 s after the ping, so a lost
 * path is noticed 3 to 4 s later. A script that keeps Redis busy for 3 s costs no connection. A longer one costs each
 * connection once, and no storm follows: the new connection waits as long for the answer to its handshake.
 */
const deadAfterLooks = 7;

/**
 * Notices that nothing comes back any more, for example because a firewall has forgotten the connection, and drops it,
 * so that the client connects again by its retry strategy. TCP alone notices that after minutes.
 *
 * A connection on which nothing was received since the last look is sent a PING, so a busy one is never pinged. PING is
 * allowed on subscriptions. Behind a blocking command it is answered when the block ends, so a block must be shorter
 * than the time until a connection counts as dead. During the handshake there is no ping, because Redis owes an answer
 * then.
 *
 * Looks are counted, not time: after a freeze of this process, the bytes that Redis has sent meanwhile are read before the
 * next look.
 */
export function watchHeartbeat(redis: Redis, onDead: (error: Error) => void): void {
  redis.on('connect', () => {
    const socket = redis.stream;
    let received = socket.bytesRead;
    let silentLooks = 0;
    const look = () => {
      if (socket.bytesRead !== received) {
        received = socket.bytesRead;
        silentLooks = 0;
        return;
      }
      silentLooks += 1;
      if (silentLooks >= deadAfterLooks) {
        onDead(new Error(`Redis has sent nothing for ${(deadAfterLooks * lookEveryMs) / 1000} s`));
        socket.destroy();
      } else if (silentLooks === 1 && redis.status === 'ready') {
        // Its answer is seen as bytes. Its failure is that of the connection, which has its own handlers.
        redis.ping().catch(() => undefined);
      }
    };
    const timer = setInterval(look, lookEveryMs);
    socket.once('close', () => clearInterval(timer));
    if (socket.destroyed) clearInterval(timer);
  });
}
