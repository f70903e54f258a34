import { EventEmitter } from 'node:events';
import { eventually, latch, within } from '@sluice/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LargeValues } from '../large-values.ts';
import { OpenEnds } from '../reading/open-ends.ts';
import type { LargeValueConnection, RedisCommands, RedisSubscriber } from '../record/connection.ts';
import { redisKeys } from '../record/keys.ts';
import { Relay } from './relay.ts';

const end = '{"id":"r","sequence_number":3,"status":"completed"}';

/** A relay with a caller that waits for an end, over connections that do what the test says. */
async function waitingRelay() {
  const connection = { subscribed: Promise.resolve(), read: () => Promise.resolve(['completed', end]) };
  const subscriber = Object.assign(new EventEmitter(), { subscribe: () => connection.subscribed });
  // The commands that looking for an end needs. The second HMGET is for the end itself.
  const redis = Object.assign(new EventEmitter(), {
    hstrlen: () => connection.read().then(() => end.length),
    hmget: (_key: string, name: string) =>
      connection.read().then(([status, result]) => (name === 'result' ? [result] : [status])),
  });
  const errors: unknown[] = [];
  const relay = new Relay({
    redis: redis as unknown as RedisCommands,
    keys: redisKeys('t:'),
    subscriber: subscriber as unknown as RedisSubscriber,
    channels: ['t:{0}:api:1'],
    ends: new OpenEnds({ ends: new LargeValues({} as LargeValueConnection), keys: redisKeys('t:') }),
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => relay.stop());
  await relay.start();
  const responseId = `create-response_0${'a'.repeat(32)}`;
  const wait = relay.awaitEnd(responseId);
  wait.begin(60_000);
  return { connection, subscriber, redis, errors, wait, relay, responseId };
}

/** Sooner than anything that is looked up now and then. */

describe('a relay whose connections are back', () => {
  it('looks for what was missed when messages arrive again, not before', async () => {
    const { connection, subscriber, wait } = await waitingRelay();
    const again = Promise.withResolvers<void>();
    connection.subscribed = again.promise;
    const read = latch();
    connection.read = () => {
      read.open();
      return Promise.resolve(['completed', end]);
    };
    subscriber.emit('ready');
    await new Promise((resolve) => setImmediate(resolve));
    expect(read.isOpen).toBe(false);
    again.resolve();
    expect(await within(wait.outcome)).toEqual({ kind: 'ended', end: { kind: 'read', json: end } });
  });

  it('looks once more when the one for reads is back after the other', async () => {
    const { connection, subscriber, redis, errors, wait } = await waitingRelay();
    connection.read = () => Promise.reject(new Error('not connected'));
    subscriber.emit('ready');
    await eventually(() => errors.length === 1);
    connection.read = () => Promise.resolve(['completed', end]);
    redis.emit('ready');
    expect(await within(wait.outcome)).toEqual({ kind: 'ended', end: { kind: 'read', json: end } });
  });
});

describe('a relay that stops', () => {
  it('tells who waits that the response is gone, and ends what is read', async () => {
    const { relay, responseId, wait } = await waitingRelay();
    const following = { cursor: -1, readFirst: false, hold: () => Promise.resolve(() => undefined) };
    const subscriptions = [false, true].map((derived) => relay.follow(responseId, { ...following, derived }));
    const reads = subscriptions.map((subscription) => subscription.next(new AbortController().signal));
    relay.stop();
    expect(await within(wait.outcome)).toEqual({ kind: 'gone' });
    expect(await within(Promise.all(reads))).toEqual([undefined, undefined]);
  });

  it('leaves the outcome of a wait that is over', async () => {
    const { relay, wait } = await waitingRelay();
    wait.giveUp('interrupted');
    relay.stop();
    expect(await within(wait.outcome)).toEqual({ kind: 'given_up', reason: 'interrupted' });
  });
});
