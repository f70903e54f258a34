import { completed, type ResponseEnd } from '@sluice/contract';
import { forAllTests, said, startLocalRedis, within } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import type { Subscription } from '../src/index.ts';
import { noHold, oneServer, storeForEachTest } from './store-under-test.ts';

const megabyte = 1_000_000;
const never = new AbortController().signal;

// A server of its own: what it holds for a subscriber counts for nobody else.
const own = forAllTests(startLocalRedis);
const store = storeForEachTest(() => oneServer(own.url));

function endOfSize(bytes: number): ResponseEnd {
  return completed({ output: [said('x'.repeat(bytes))], usage: null }, 1_700_000_000);
}

/** An api process whose connection for messages the test can stop reading, as a busy process does. */
async function startedProcess() {
  const { server } = store;
  const subscriber = server.connect();
  const [bulk, largeValues] = [server.connect(), server.connect()];
  const api = store.callerOver(server.connect(), { bulk, largeValues, subscriber });
  await api.start();
  let cuts = 0;
  subscriber.on('close', () => {
    cuts += 1;
  });
  const accepted = async (options: { streams: boolean }) => {
    const id = await store.accepted({ background: false, ...options });
    await api.attach(id);
    await store.take(id, 'a');
    return id;
  };
  /** Does something while no message is read. */
  const whileBusy = async (act: () => Promise<unknown>) => {
    subscriber.stream.pause();
    await act();
    subscriber.stream.resume();
  };
  return { api, accepted, whileBusy, cuts: () => cuts };
}

async function readAll(subscription: Subscription): Promise<{ characters: number; hasEnded: boolean }> {
  let characters = 0;
  for (;;) {
    const batch = await within(subscription.next(never));
    if (!batch) return { characters, hasEnded: false };
    for (const { json } of batch.events) characters += json.length;
    if (batch.end) return { characters, hasEnded: true };
  }
}

/** Delta events of a megabyte each, from a number on. */
function largeDeltas(first: number, count: number): string[] {
  return Array.from(
    { length: count },
    (_, at) =>
      `{"type":"response.output_text.delta","sequence_number":${first + at},"delta":"${'x'.repeat(megabyte)}"}`,
  );
}

describe('news that are too large for a message', () => {
  it('of eight ends at once do not cut the process that waits for them', async () => {
    const { api, accepted, whileBusy, cuts } = await startedProcess();
    // In all more than Redis keeps for a subscriber that does not read, by default 32 MB.
    const end = endOfSize(6 * megabyte);
    const ids = await Promise.all(Array.from({ length: 8 }, () => accepted({ streams: false })));
    const waits = ids.map((id) => {
      const wait = api.awaitEnd(id);
      wait.begin(60_000);
      return wait;
    });
    await whileBusy(async () => {
      for (const id of ids) expect(await store.write(id, 'a', 3, [], end)).toEqual({ kind: 'ok' });
    });
    for (const wait of waits) {
      const outcome = await within(wait.outcome);
      // It tells how long it is: whoever wants it makes room first.
      const bytes = outcome.kind === 'ended' && outcome.end.kind === 'long' ? outcome.end.bytes : 0;
      const open = await within(api.openEnd(ids[waits.indexOf(wait)] ?? '', { bytes, hold: noHold }));
      expect(open?.texts?.filled(open.end)).toEqual(end);
      open?.close();
    }
    // A message behind them all comes over the same connection: this wait looks nothing up.
    const last = await accepted({ streams: false });
    const wait = api.awaitEnd(last);
    await store.write(last, 'a', 3, [], endOfSize(10));
    expect(await within(wait.outcome)).toMatchObject({ kind: 'ended' });
    expect(cuts()).toBe(0);
  });

  it('of a stream reach its reader from the log, each once', async () => {
    const { api, accepted, whileBusy, cuts } = await startedProcess();
    const id = await accepted({ streams: true });
    const subscription = api.follow(id, { cursor: 2, readFirst: false, derived: false, hold: noHold });
    const all = readAll(subscription);
    const deltas = largeDeltas(3, 40);
    await whileBusy(async () => {
      for (let at = 0; at < deltas.length; at += 10) {
        expect(await store.write(id, 'a', 3 + at, deltas.slice(at, at + 10))).toEqual({ kind: 'ok' });
      }
      expect(await store.write(id, 'a', 43, [], endOfSize(16 * megabyte))).toEqual({ kind: 'ok' });
    });
    const { characters, hasEnded } = await all;
    const last = '{"type":"response.completed"}';
    expect(characters).toBe(deltas.join('').length + last.length);
    expect(hasEnded).toBe(true);
    expect(cuts()).toBe(0);
    subscription.close();
  });

  it('are those of more than 64 KiB: anything else comes with its message', async () => {
    const { api, accepted } = await startedProcess();
    const settledWithoutLook = async (bytes: number) => {
      const id = await accepted({ streams: false });
      // It looks nothing up until it has begun.
      const wait = api.awaitEnd(id);
      const next = await accepted({ streams: false });
      const waitForNext = api.awaitEnd(next);
      await store.write(id, 'a', 3, [], endOfSize(bytes));
      await store.write(next, 'a', 3, [], endOfSize(10));
      await within(waitForNext.outcome);
      wait.close();
      return wait.settledAs?.kind;
    };
    expect(await settledWithoutLook(64_000)).toBe('ended');
    expect(await settledWithoutLook(66_000)).toBeUndefined();
  });
});
