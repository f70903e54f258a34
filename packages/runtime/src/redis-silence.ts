import type { Command, Redis } from 'ioredis';
import { RedisSilentError } from './redis-failure.ts';

/** How often a connection is looked at, in milliseconds. */
const lookEveryMs = 100;

/** Looks without a byte received, while Redis owes an answer, after which it counts as silent: a second. */
const silentAfterLooks = 10;

/**
 * Lets commands fail at once while Redis is known not to answer on this connection, instead of each waiting for its own
 * time-out. They are rejected with `RedisSilentError` and are never sent.
 *
 * Redis counts as silent when it owes an answer and has sent nothing for a second. The commands that were sent until
 * then are the probe: when Redis goes on it answers them first, and with the first byte commands are sent again. A new
 * connection begins anew; until it is ready ioredis rejects commands by itself.
 *
 * Looks are counted, not time: after a freeze of this process, the bytes that Redis has sent meanwhile are read before the
 * next look.
 */
export function failFastWhileSilent(redis: Redis): void {
  let isAnswerOwed = false;
  let received = 0;
  let silentLooks = 0;
  const begin = () => {
    isAnswerOwed = false;
    received = redis.stream.bytesRead;
    silentLooks = 0;
  };
  const isSilent = () => silentLooks >= silentAfterLooks && redis.stream.bytesRead === received;
  const look = () => {
    if (redis.stream.bytesRead !== received) begin();
    else if (isAnswerOwed) silentLooks += 1;
  };
  redis.on('connect', () => {
    begin();
    const socket = redis.stream;
    const timer = setInterval(look, lookEveryMs);
    socket.once('close', () => clearInterval(timer));
    if (socket.destroyed) clearInterval(timer);
  });
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command: Command, ...rest) => {
    // Until it is ready, the client sends the commands of its handshake and rejects all others.
    if (redis.status === 'ready' && isSilent()) {
      command.reject(new RedisSilentError());
      return command.promise;
    }
    isAnswerOwed = true;
    return send(command, ...rest);
  };
}
