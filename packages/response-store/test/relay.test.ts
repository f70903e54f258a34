import { randomUUID } from 'node:crypto';
import { completed, nothingProduced, type ResponseEnd } from '@sluice/contract';
import { eventually, within } from '@sluice/testing';
import type { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { type Batch, type Subscription } from '../src/index.ts';
import { type AcceptedOptions, endOf, noHold, storeForEachTest } from './store-under-test.ts';

const store = storeForEachTest();

const end = completed(nothingProduced, 1_700_000_000);
const never = new AbortController().signal;

/** An api process of its own, with connections that a test may cut. */
async function startedProcess() {
  const { server } = store;
  const subscriber = server.connect();
  const commands = server.connect();
  const processId = randomUUID();
  const relay = store.callerOver(commands, { subscriber, processId });
  await relay.start();
  const lease = store.keys.apiProcess(processId);
  /** A response that this process watches, and that is not in the background. */
  const accepted = async (options: AcceptedOptions = {}) => {
    const id = await store.accepted({ background: false, ...options });
    await relay.attach(id);
    return id;
  };
  return { relay, subscriber, commands, lease, accepted };
}

const take = (id: string) => store.take(id, 'a');

/** Appends deltas with these numbers, and the end behind them if there is one. */
function write(id: string, numbers: number[], ending?: ResponseEnd) {
  const events = numbers.map((number) => `{"type":"response.output_text.delta","sequence_number":${number}}`);
  return store.write(id, 'a', numbers[0] ?? 3, events, ending);
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
async function cutConnection(client: Redis): Promise<void> {
  const reconnected = new Promise<void>((resolve) => client.once('ready', () => resolve()));
  client.stream.destroy();
  await within(reconnected);
}

describe('relay', () => {
  it('delivers every event of a response from the accept to the end', async () => {
    const { relay, accepted } = await startedProcess();
    const id = await accepted();
    const subscription = relay.follow(id, { cursor: 1, readFirst: false, derived: false, hold: noHold });
    const all = readAll(subscription);
    await take(id);
    for (let number = 3; number < 103; number += 5) await write(id, range(number, number + 4));
    await write(id, [103], end);
    expect(await all).toEqual({ numbers: range(2, 104), last: end });
    subscription.close();
  });

  it('gives any number of readers exactly the rest, in the middle of a stream', async () => {
    const { relay, accepted } = await startedProcess();
    const id = await accepted();
    await take(id);
    const readers: Promise<{ numbers: number[] }>[] = [];
    const cursors: number[] = [];
    for (let number = 3; number < 63; number += 1) {
      await write(id, [number]);
      const cursor = (number * 7) % (number + 1);
      cursors.push(cursor);
      readers.push(readAll(relay.follow(id, { cursor, readFirst: true, derived: false, hold: noHold })));
    }
    await write(id, [63], end);
    expect((await Promise.all(readers)).map(({ numbers }) => numbers)).toEqual(
      cursors.map((cursor) => range(cursor + 1, 64)),
    );
  });

  it('delivers to every process that is attached', async () => {
    const first = await startedProcess();
    const second = await startedProcess();
    const id = await first.accepted();
    await take(id);
    await write(id, [3, 4]);
    const late = second.relay.follow(id, { cursor: -1, readFirst: true, derived: false, hold: noHold });
    await second.relay.attach(id);
    const readers = [
      first.relay.follow(id, { cursor: 1, readFirst: true, derived: false, hold: noHold }),
      late,
    ].map(readAll);
    await write(id, [5], end);
    expect((await Promise.all(readers)).map(({ numbers }) => numbers)).toEqual([range(2, 6), range(0, 6)]);
  });

  it('goes on without gap or repeat after its connections were cut', async () => {
    const { relay, subscriber, commands, accepted } = await startedProcess();
    const id = await accepted();
    await take(id);
    const all = readAll(relay.follow(id, { cursor: -1, readFirst: true, derived: false, hold: noHold }));
    for (let number = 3; number < 303; number += 1) {
      await write(id, [number]);
      if (number % 100 === 50) await cutConnection(subscriber);
      if (number % 100 === 75) await cutConnection(commands);
    }
    await write(id, [303], end);
    expect(await all).toEqual({ numbers: range(0, 304), last: end });
  });

  it('derives the events of a response that was not created as a stream', async () => {
    const { relay, accepted } = await startedProcess();
    const id = await accepted({ streams: false });
    const first = readAll(relay.follow(id, { cursor: -1, readFirst: true, derived: true, hold: noHold }));
    await take(id);
    await write(id, [], end);
    expect(await first).toEqual({ numbers: [0, 1, 2, 3], last: end });
    const again = readAll(relay.follow(id, { cursor: 1, readFirst: true, derived: true, hold: noHold }));
    expect(await again).toEqual({ numbers: [2, 3], last: end });
  });

  it('ends a reader whose response is erased', async () => {
    const { relay, accepted } = await startedProcess();
    const id = await accepted();
    await store.caller.erase(id, 'team-a');
    const subscription = relay.follow(id, { cursor: -1, readFirst: true, derived: false, hold: noHold });
    expect(await readAll(subscription)).toEqual({ numbers: [], last: undefined });
  });

  it('wakes who waits for the end alone, also when its message was lost', async () => {
    const { relay, subscriber, lease, accepted } = await startedProcess();
    const heard = await accepted({ streams: false });
    const wait = relay.awaitEnd(heard);
    await take(heard);
    await write(heard, [], end);
    const outcome = await within(wait.outcome);
    expect(outcome.kind === 'ended' && endOf(outcome.end)).toEqual({
      responseId: heard,
      sequenceNumber: 3,
      end,
    });

    const missed = await accepted({ streams: false });
    const waiting = relay.awaitEnd(missed);
    waiting.begin(60_000);
    await take(missed);
    await subscriber.unsubscribe(lease);
    await write(missed, [], end);
    expect(await within(waiting.outcome)).toMatchObject({ kind: 'ended' });
  });

  it('tells who waits that the response was deleted', async () => {
    const { relay, accepted } = await startedProcess();
    const id = await accepted({ streams: false });
    const wait = relay.awaitEnd(id);
    wait.begin(60_000);
    await store.caller.erase(id, 'team-a');
    expect(await within(wait.outcome)).toEqual({ kind: 'gone' });
  });

  it('ignores messages for others and messages that are none', async () => {
    const { relay, lease, accepted } = await startedProcess();
    const id = await accepted();
    const subscription = relay.follow(id, { cursor: 1, readFirst: false, derived: false, hold: noHold });
    await store.server.client.publish(lease, 'nonsense');
    await store.server.client.publish(lease, 'other 2 1 -\n{"type":"error"}');
    await take(id);
    expect(await within(subscription.next(never))).toMatchObject({ events: [{ sequenceNumber: 2 }] });
  });

  it('holds its lease until it stops, and takes it again after the store was away', async () => {
    const { relay, commands, lease } = await startedProcess();
    const left = await store.server.client.pttl(lease);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(6_000);
    await store.server.client.del(lease);
    await cutConnection(commands);
    await eventually(async () => (await store.server.client.exists(lease)) === 1);
    await relay.stop();
    expect(await store.server.client.exists(lease)).toBe(0);
  });
});
