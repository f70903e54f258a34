import { randomUUID } from 'node:crypto';
import { completed, nothingProduced, type ResponseEnd } from '@sluice/contract';
import { eventually, testRedis, type TestRedis, within } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { append, attach, type Batch, claim, erase, Relay, type Subscription } from '../src/index.ts';
import { acceptedRecord, type AcceptedOptions, retention, testKeys } from './accepted-record.ts';

let redis: TestRedis;
const cleanups: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  redis = await testRedis();
});
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
  await redis.close();
});

const end = completed(nothingProduced, 1_700_000_000);
const never = new AbortController().signal;

async function startedRelay() {
  const subscriber = redis.connect();
  const commands = redis.connect();
  const apiProcess = testKeys(redis).apiProcess(randomUUID());
  const errors: unknown[] = [];
  const keys = testKeys(redis);
  const relay = new Relay({ subscriber, commands, keys, apiProcess, onError: (error) => errors.push(error) });
  await relay.start();
  cleanups.push(() => relay.stop());
  return { relay, subscriber, commands, apiProcess, errors };
}

function accepted(options: AcceptedOptions) {
  return acceptedRecord(redis, options);
}

function take(id: string) {
  const options = { token: 'a', workerChannel: 'w', totalMs: 60_000, maxAttempts: 2 };
  return claim(redis.client, testKeys(redis), id, options);
}

/** Appends deltas with these numbers, and the end behind them if there is one. */
function write(id: string, numbers: number[], ending?: ResponseEnd) {
  const events = numbers.map((number) => `{"type":"response.output_text.delta","sequence_number":${number}}`);
  const sequenceNumber = numbers[0] ?? 3;
  const ended = ending && { end: ending };
  return append(redis.client, testKeys(redis), id, {
    token: 'a',
    sequenceNumber,
    events,
    retention,
    ...ended,
  });
}

async function readAll(subscription: Subscription): Promise<{ numbers: number[]; last: Batch['end'] }> {
  const numbers: number[] = [];
  for (;;) {
    const batch = await within(subscription.next(never));
    if (!batch) return { numbers, last: undefined };
    numbers.push(...batch.events.map(({ sequenceNumber }) => sequenceNumber));
    if (batch.end) return { numbers, last: batch.end };
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

/** Cuts the connection, as a network does; the client connects again by itself. */
async function cutConnection(client: TestRedis['client']): Promise<void> {
  const reconnected = new Promise<void>((resolve) => client.once('ready', () => resolve()));
  client.stream.destroy();
  await within(reconnected);
}

describe('relay', () => {
  it('delivers every event of a response from the accept to the end', async () => {
    const { relay, apiProcess } = await startedRelay();
    const id = await accepted({ background: false, watchers: [apiProcess] });
    const subscription = relay.follow(id, { cursor: 1, readFirst: false, derived: false });
    const all = readAll(subscription);
    await take(id);
    for (let number = 3; number < 103; number += 5) await write(id, range(number, number + 4));
    await write(id, [103], end);
    expect(await all).toEqual({ numbers: range(2, 104), last: end });
    subscription.close();
    expect(relay.size).toBe(0);
  });

  it('gives any number of readers exactly the rest, in the middle of a stream', async () => {
    const { relay, apiProcess } = await startedRelay();
    const id = await accepted({ background: false, watchers: [apiProcess] });
    await take(id);
    const readers: Promise<{ numbers: number[] }>[] = [];
    const cursors: number[] = [];
    for (let number = 3; number < 63; number += 1) {
      await write(id, [number]);
      const cursor = (number * 7) % (number + 1);
      cursors.push(cursor);
      readers.push(readAll(relay.follow(id, { cursor, readFirst: true, derived: false })));
    }
    expect(relay.size).toBe(60);
    await write(id, [63], end);
    expect((await Promise.all(readers)).map(({ numbers }) => numbers)).toEqual(
      cursors.map((cursor) => range(cursor + 1, 64)),
    );
  });

  it('delivers to every process that is attached', async () => {
    const first = await startedRelay();
    const second = await startedRelay();
    const id = await accepted({ background: false, watchers: [first.apiProcess] });
    await take(id);
    await write(id, [3, 4]);
    const late = second.relay.follow(id, { cursor: -1, readFirst: true, derived: false });
    await attach(redis.client, testKeys(redis), id, second.apiProcess);
    const readers = [first.relay.follow(id, { cursor: 1, readFirst: true, derived: false }), late].map(
      readAll,
    );
    await write(id, [5], end);
    expect((await Promise.all(readers)).map(({ numbers }) => numbers)).toEqual([range(2, 6), range(0, 6)]);
  });

  it('goes on without gap or repeat after its connections were cut', async () => {
    const { relay, subscriber, commands, apiProcess } = await startedRelay();
    const id = await accepted({ background: false, watchers: [apiProcess] });
    await take(id);
    const all = readAll(relay.follow(id, { cursor: -1, readFirst: true, derived: false }));
    for (let number = 3; number < 303; number += 1) {
      await write(id, [number]);
      if (number % 100 === 50) await cutConnection(subscriber);
      if (number % 100 === 75) await cutConnection(commands);
    }
    await write(id, [303], end);
    expect(await all).toEqual({ numbers: range(0, 304), last: end });
  });

  it('derives the events of a response that was not created as a stream', async () => {
    const { relay, apiProcess } = await startedRelay();
    const id = await accepted({ streams: false, background: false, watchers: [apiProcess] });
    const first = readAll(relay.follow(id, { cursor: -1, readFirst: true, derived: true }));
    await attach(redis.client, testKeys(redis), id, apiProcess);
    await take(id);
    await write(id, [], end);
    expect(await first).toEqual({ numbers: [0, 1, 2, 3], last: end });
    const again = readAll(relay.follow(id, { cursor: 1, readFirst: true, derived: true }));
    expect(await again).toEqual({ numbers: [2, 3], last: end });
  });

  it('ends a reader whose response is erased', async () => {
    const { relay, apiProcess } = await startedRelay();
    const id = await accepted({ background: false, watchers: [apiProcess] });
    await erase(redis.client, testKeys(redis), id, 'team-a');
    const subscription = relay.follow(id, { cursor: -1, readFirst: true, derived: false });
    expect(await readAll(subscription)).toEqual({ numbers: [], last: undefined });
  });

  it('wakes who waits for the end alone, also when its message was lost', async () => {
    const { relay, subscriber, apiProcess } = await startedRelay();
    const heard = await accepted({ background: false, watchers: [apiProcess], streams: false });
    const pending = relay.awaitEnd(heard);
    await take(heard);
    const ended = pending.ended(never);
    await write(heard, [], end);
    expect(await within(ended)).toEqual(end);

    const missed = await accepted({ background: false, watchers: [apiProcess], streams: false });
    const waiting = relay.awaitEnd(missed);
    await take(missed);
    await subscriber.unsubscribe(apiProcess);
    await write(missed, [], end);
    expect(await within(waiting.ended(never))).toEqual(end);
    pending.close();
    waiting.close();
    expect(relay.size).toBe(0);
  });

  it('ignores messages for others and messages that are none', async () => {
    const { relay, apiProcess } = await startedRelay();
    const id = await accepted({ background: false, watchers: [apiProcess] });
    const subscription = relay.follow(id, { cursor: 1, readFirst: false, derived: false });
    await redis.client.publish(apiProcess, 'nonsense');
    await redis.client.publish(apiProcess, 'other 2 1 -\n{"type":"error"}');
    await take(id);
    expect(await within(subscription.next(never))).toMatchObject({ events: [{ sequenceNumber: 2 }] });
  });

  it('holds its lease until it stops, and takes it again after the store was away', async () => {
    const { relay, commands, apiProcess } = await startedRelay();
    const left = await redis.client.pttl(apiProcess);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(6_000);
    await redis.client.del(apiProcess);
    await cutConnection(commands);
    await eventually(async () => (await redis.client.exists(apiProcess)) === 1);
    await relay.stop();
    expect(await redis.client.exists(apiProcess)).toBe(0);
  });
});
