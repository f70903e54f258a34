import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RedisSubscriber } from './connection.ts';
import { subscribeOnceTaken } from './subscribe.ts';

/** A client whose Redis gives these replies to a subscription, the last one from then on. */
function clientOf(...replies: (string | undefined)[]) {
  const asked: string[][] = [];
  const client = Object.assign(new EventEmitter(), {
    status: 'ready',
    subscribe: (...channels: string[]) => {
      asked.push(channels);
      const refusal = replies[Math.min(asked.length, replies.length) - 1];
      return refusal === undefined ? Promise.resolve(1) : Promise.reject(new Error(refusal));
    },
  });
  // It has what is used of a client.
  return { client, subscriber: client as unknown as RedisSubscriber, asked };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a subscription', () => {
  it('is asked for again on a connection that stays, and with the next one', async () => {
    const { client, subscriber, asked } = clientOf('NOAUTH Authentication required.', 'LOADING', undefined);
    const taken = subscribeOnceTaken(subscriber, ['a', 'b']);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(asked).toHaveLength(2);
    client.emit('ready');
    await taken;
    expect(asked).toEqual(Array.from({ length: 3 }, () => ['a', 'b']));
    expect([client.listenerCount('ready'), client.listenerCount('end'), vi.getTimerCount()]).toEqual([
      0, 0, 0,
    ]);
  });

  it.each(["NOPERM this user has no permissions to access the 'a' channel", 'ERR unknown command'])(
    'fails where an operator has to act: %s',
    async (refusal) => {
      const { subscriber } = clientOf(refusal);
      await expect(subscribeOnceTaken(subscriber, ['a'])).rejects.toThrow(refusal);
    },
  );

  it('fails when its client is closed', async () => {
    const { client, subscriber } = clientOf('Connection is closed.');
    const taken = subscribeOnceTaken(subscriber, ['a']);
    client.status = 'end';
    client.emit('end');
    await expect(taken).rejects.toThrow('Connection is closed.');
  });
});
