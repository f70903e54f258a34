import { completed, nothingProduced } from '@sluice/contract';
import { randomFrom, said } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { BoundedReads } from './bounded-reads.ts';
import { DerivedEvents, type LogReaderOptions } from './log-readers.ts';
import type { RelayMessage } from './message.ts';
import type { LoggedEvent } from '../reading/read-events.ts';
import { printEnd } from '../record/end-json.ts';
import { type Batch, type LogReader, Subscription } from './subscription.ts';

// The polls of a subscription are timers; everything else in here is promises.
beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const end = completed(nothingProduced, 1_700_000_000);
const result = printEnd({ responseId: 'r', sequenceNumber: 3, end });
const never = new AbortController().signal;

function event(sequenceNumber: number, size = 0): LoggedEvent {
  return {
    sequenceNumber,
    json: `{"type":"response.output_text.delta","sequence_number":${sequenceNumber},"delta":"${'x'.repeat(size)}"}`,
  };
}

function lastEvent(sequenceNumber: number): LoggedEvent {
  return { sequenceNumber, json: '{"type":"response.completed"}' };
}

/** A log that grows as the test appends to it, and the subscription of one reader. */
function subscribed({ cursor = -1, readFirst = false, looksAgain = true } = {}) {
  const log: LoggedEvent[] = [];
  const reads: number[] = [];
  const errors: unknown[] = [];
  const store = {
    hasEnd: false,
    isGone: false,
    failures: 0,
    isClosed: false,
    lastNumber: undefined as number | undefined,
  };
  const mayFail = () => {
    if (store.failures === 0) return;
    store.failures -= 1;
    throw new Error('store is away');
  };
  const reader: LogReader = {
    async events(after, count) {
      mayFail();
      reads.push(after);
      return log.filter(({ sequenceNumber }) => sequenceNumber > after).slice(0, count);
    },
    async end() {
      mayFail();
      if (store.isGone) return null;
      return store.hasEnd ? { end } : undefined;
    },
    last: () => Promise.resolve(store.lastNumber ?? log.at(-1)?.sequenceNumber),
    close: () => undefined,
  };
  const subscription = new Subscription({
    cursor,
    readFirst,
    looksAgain,
    reader,
    onClose: () => (store.isClosed = true),
    onError: (error) => errors.push(error),
  });
  return { subscription, log, reads, errors, store };
}

function message(events: LoggedEvent[], isEnd = false): RelayMessage {
  return { responseId: 'r', events, end: isEnd ? result : undefined };
}

/** Reads to the end, letting time pass whenever nothing else happens. */
async function readAll(subscription: Subscription): Promise<{ numbers: number[]; last: Batch['end'] }> {
  const numbers: number[] = [];
  for (;;) {
    const next = subscription.next(never);
    let isSettled = false;
    void next.finally(() => (isSettled = true));
    await vi.advanceTimersByTimeAsync(0);
    while (!isSettled) await vi.advanceTimersByTimeAsync(1_000);
    const batch = await next;
    if (!batch) return { numbers, last: undefined };
    numbers.push(...batch.events.map(({ sequenceNumber }) => sequenceNumber));
    if (batch.end) return { numbers, last: batch.end };
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

describe('subscription', () => {
  it('delivers live events without reading the log', async () => {
    const { subscription, reads } = subscribed();
    subscription.offer(message([event(0), event(1)]));
    subscription.offer(message([event(2)]));
    expect(await subscription.next(never)).toEqual({
      events: [event(0), event(1), event(2)],
      end: undefined,
    });
    subscription.offer(message([lastEvent(3)], true));
    expect(await subscription.next(never)).toEqual({ events: [lastEvent(3)], end });
    expect(reads).toEqual([]);
  });

  it('wakes a reader that waits', async () => {
    const { subscription } = subscribed();
    const next = subscription.next(never);
    subscription.offer(message([event(0)]));
    expect(await next).toEqual({ events: [event(0)], end: undefined });
  });

  it('starts behind its cursor, from the log', async () => {
    for (let cursor = -1; cursor < 5; cursor += 1) {
      const { subscription, log, store } = subscribed({ cursor, readFirst: true });
      log.push(...range(0, 4).map((number) => event(number)), lastEvent(5));
      store.hasEnd = true;
      expect(await readAll(subscription)).toEqual({ numbers: range(cursor + 1, 5), last: end });
    }
  });

  it('tells a reader that has everything that it is over', async () => {
    const { subscription, log, store } = subscribed({ cursor: 1, readFirst: true });
    log.push(event(0), lastEvent(1));
    store.hasEnd = true;
    expect(await subscription.next(never)).toEqual({ events: [], end });
  });

  it('tells a reader that asked for what is behind the end how the response has ended, as soon as it has', async () => {
    const { subscription, log, store } = subscribed({ cursor: 9, readFirst: true });
    const next = subscription.next(never);
    await vi.advanceTimersByTimeAsync(0);
    log.push(lastEvent(3));
    store.hasEnd = true;
    subscription.offer(message([lastEvent(3)], true));
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
    expect(await next).toEqual({ events: [lastEvent(10)], end });
  });

  it('tells a reader that asked for what is behind the greatest number that it is over', async () => {
    const { subscription, log, store } = subscribed({ cursor: Number.MAX_SAFE_INTEGER, readFirst: true });
    log.push(event(0), lastEvent(1));
    store.hasEnd = true;
    expect(await subscription.next(never)).toEqual({ events: [], end });
  });

  it.each([1, 3])(
    'tells a reader of events that the store has lost how the response has ended since, with event %i',
    async (last) => {
      const { subscription, log, store } = subscribed();
      subscription.offer(message([event(0), event(1), event(2), event(3)]));
      await subscription.next(never);
      log.push(...range(0, last - 1).map((number) => event(number)), lastEvent(last));
      store.hasEnd = true;
      subscription.resync();
      expect(await subscription.next(never)).toEqual({ events: [lastEvent(4)], end });
    },
  );

  it.each([-1, 1])('tells no end to a reader behind event %i whose log has gone', async (cursor) => {
    const { subscription, store } = subscribed({ cursor, readFirst: true });
    store.lastNumber = 3;
    store.hasEnd = true;
    expect(await subscription.next(never)).toBeUndefined();
  });

  it('tells a reader that a response was deleted between its last event and its end', async () => {
    const { subscription, log, store } = subscribed({ readFirst: true });
    log.push(event(0), lastEvent(1));
    store.isGone = true;
    expect(await subscription.next(never)).toBeUndefined();
  });

  it('reads large events of a log in pages of few, so that a slow reader holds little', async () => {
    const { subscription, log, store } = subscribed({ readFirst: true });
    const large = range(0, 99).map((sequenceNumber) => ({
      sequenceNumber,
      json: `{"type":"large","text":"${'x'.repeat(32 * 1024)}"}`,
    }));
    log.push(...large, lastEvent(100));
    store.hasEnd = true;
    const sizes: number[] = [];
    let batch = await subscription.next(never);
    for (; batch && !batch.end; batch = await subscription.next(never)) sizes.push(batch.events.length);
    expect(Math.max(...sizes.slice(1))).toBeLessThanOrEqual(4);
    expect(sizes.reduce((sum, size) => sum + size, batch?.events.length ?? 0)).toBe(101);
  });

  it('reads a long log in pages and joins what came meanwhile', async () => {
    const { subscription, log, store } = subscribed({ readFirst: true });
    log.push(...range(0, 999).map((number) => event(number)));
    subscription.offer(message([event(998), event(999)]));
    log.push(lastEvent(1_000));
    store.hasEnd = true;
    subscription.offer(message([lastEvent(1_000)], true));
    expect(await readAll(subscription)).toEqual({ numbers: range(0, 1_000), last: end });
  });

  it('fills a hole in front of, and between, live events', async () => {
    const { subscription, log } = subscribed();
    log.push(...range(0, 6).map((number) => event(number)));
    subscription.offer(message([event(2)]));
    subscription.offer(message([event(3), event(6)]));
    const seen: number[] = [];
    while (seen.length < 7) {
      const batch = await subscription.next(never);
      seen.push(...(batch?.events ?? []).map(({ sequenceNumber }) => sequenceNumber));
    }
    expect(seen).toEqual(range(0, 6));
  });

  it('finds a last message that was lost', async () => {
    const { subscription, log, store } = subscribed();
    const all = readAll(subscription);
    log.push(event(0), lastEvent(1));
    store.hasEnd = true;
    expect(await all).toEqual({ numbers: [0, 1], last: end });
  });

  it('drops the live feed of a slow reader and serves it from the log', async () => {
    const { subscription, log, reads, store } = subscribed();
    const events = range(0, 299).map((number) => event(number, 1_000));
    for (const each of events) {
      log.push(each);
      subscription.offer(message([each]));
    }
    log.push(lastEvent(300));
    store.hasEnd = true;
    subscription.offer(message([lastEvent(300)], true));
    expect(await readAll(subscription)).toEqual({ numbers: range(0, 300), last: end });
    expect(reads.length).toBeGreaterThan(0);
  });

  it('misses nothing that is dropped while the log is being read', async () => {
    const { subscription, log } = subscribed({ readFirst: true });
    log.push(event(0));
    const first = subscription.next(never);
    // More than a reader may have buffered, behind a read that has its answer already.
    for (const number of range(1, 300)) {
      log.push(event(number, 1_000));
      subscription.offer(message([event(number, 1_000)]));
    }
    const seen = ((await first)?.events ?? []).map(({ sequenceNumber }) => sequenceNumber);
    while (seen.length < 301) {
      const batch = await subscription.next(never);
      seen.push(...(batch?.events ?? []).map(({ sequenceNumber }) => sequenceNumber));
    }
    expect(seen).toEqual(range(0, 300));
  });

  it('ends when the response is gone', async () => {
    const { subscription, store } = subscribed();
    store.isGone = true;
    expect(await readAll(subscription)).toEqual({ numbers: [], last: undefined });
  });

  it.each([1, 2, 3, 4, 5])('waits out a store that fails %i times, and repeats nothing', async (failures) => {
    const { subscription, log, store, errors } = subscribed({ readFirst: true });
    log.push(event(0), event(1), lastEvent(2));
    store.hasEnd = true;
    store.failures = failures;
    expect(await readAll(subscription)).toEqual({ numbers: [0, 1, 2], last: end });
    expect(errors.length).toBeGreaterThan(0);
  });

  it('does not lose the last event when its end cannot be read', async () => {
    const { subscription, log, store } = subscribed();
    log.push(event(0), lastEvent(1));
    store.hasEnd = true;
    store.failures = 1;
    // The end was said in a message that was lost; the events came by another.
    subscription.offer(message([event(0), lastEvent(1)]));
    expect(await readAll(subscription)).toEqual({ numbers: [0, 1], last: end });
  });

  it('rejects with the reason of its signal', async () => {
    const { subscription } = subscribed();
    const controller = new AbortController();
    const next = subscription.next(controller.signal);
    const reason = new Error('left');
    const rejected = expect(next).rejects.toBe(reason);
    await vi.advanceTimersByTimeAsync(0);
    controller.abort(reason);
    await rejected;
    await expect(subscription.next(controller.signal)).rejects.toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('rejects, too, when its signal aborts while the log is read that has nothing new', async () => {
    const { subscription, reads } = subscribed({ cursor: 1, looksAgain: false });
    const over = new AbortController();
    const next = subscription.next(over.signal);
    await vi.advanceTimersByTimeAsync(0);
    subscription.resync();
    reads.push = () => {
      over.abort(new Error('its time is over'));
      return 0;
    };
    await expect(next).rejects.toThrow('its time is over');
  });

  it('tells nothing that was at hand before the store came back without it', async () => {
    const { subscription, log } = subscribed();
    subscription.offer(message([event(0), lastEvent(1)], true));
    subscription.resync();
    const over = new AbortController();
    const next = subscription.next(over.signal, () => over.abort(new Error('caught up')));
    await expect(next).rejects.toThrow('caught up');
    log.push(event(0), event(1));
    subscription.resync();
    expect(await subscription.next(never)).toEqual({ events: [event(0), event(1)], end: undefined });
  });

  it('closes once', () => {
    const { subscription, store } = subscribed();
    subscription.close();
    store.isClosed = false;
    subscription.close();
    expect(store.isClosed).toBe(false);
  });

  it.each(range(1, 60))('has no gap and no repeat whatever happens to messages (seed %i)', async (seed) => {
    const random = randomFrom(seed);
    const { subscription, log, store } = subscribed({ readFirst: random() < 0.5 });
    const total = 40;
    const all = readAll(subscription);
    let late: RelayMessage[] = [];
    for (let number = 0; number <= total; ) {
      const size = 1 + Math.floor(random() * 4);
      const events = range(number, Math.min(number + size - 1, total)).map((each) =>
        each === total ? lastEvent(each) : event(each, random() < 0.05 ? 200_000 : 0),
      );
      number += size;
      log.push(...events);
      const isEnd = number > total;
      store.hasEnd = isEnd;
      const told = message(events, isEnd);
      const fate = random();
      if (fate < 0.15) late.push(told);
      else if (fate < 0.75) subscription.offer(told);
      if (fate > 0.6 && fate < 0.75) subscription.offer(told);
      if (random() < 0.2) {
        for (const each of late) subscription.offer(each);
        late = [];
      }
      if (random() < 0.1) subscription.resync();
      if (random() < 0.1) store.failures += 1;
      if (random() < 0.5) await vi.advanceTimersByTimeAsync(0);
    }
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await all).toEqual({ numbers: range(0, total), last: end });
  });
});

describe('a subscription to a response without a log', () => {
  const progress = { hasStarted: true, end: undefined as { kind: 'read'; json: string } | undefined };
  const answer = (...texts: string[]) => {
    const output = texts.map((text, at) => said(text, `m${at}`));
    return completed({ ...nothingProduced, output }, 1_700_000_000);
  };
  const printed = (...texts: string[]) =>
    printEnd({ responseId: 'r', sequenceNumber: 9, end: answer(...texts) });

  /** The subscription and its listener, over a store that answers when the test says so. */
  function derived({ cursor = 1 } = {}) {
    const asked: PromiseWithResolvers<unknown>[] = [];
    const run = () => {
      asked.push(Promise.withResolvers());
      return asked.at(-1)?.promise;
    };
    // Everything that is read here is short, and how far the response is.
    const options = { responseId: 'r', reads: { run } as unknown as BoundedReads } as LogReaderOptions;
    const reader = new DerivedEvents(options);
    const ignored = () => undefined;
    const subscription = new Subscription({
      cursor,
      readFirst: true,
      reader,
      onClose: ignored,
      onError: ignored,
    });
    return { subscription, listener: reader.listener(() => subscription.resync()), asked };
  }

  it('tells no end that came before the store came back without it', async () => {
    const { subscription, listener, asked } = derived();
    const next = subscription.next(never);
    listener.offer({ responseId: 'r', events: [], end: printed('lost') });
    listener.resync();
    asked[0]?.reject(new Error('Connection is closed.'));
    await vi.advanceTimersByTimeAsync(0);
    asked[1]?.resolve(progress);
    expect(await next).toMatchObject({ events: [{ sequenceNumber: 2 }], end: undefined });
  });

  it('goes on with an end that it has told in part', async () => {
    const { subscription, listener, asked } = derived();
    const first = subscription.next(never);
    asked[0]?.resolve({ ...progress, end: { kind: 'read', json: printed('x'.repeat(200_000)) } });
    const numbers = (await first)?.events.map(({ sequenceNumber }) => sequenceNumber) ?? [];
    listener.offer({ responseId: 'r', events: [], end: printed('another') });
    listener.resync();
    const rest = await readAll(subscription);
    expect({ ...rest, numbers: [...numbers, ...rest.numbers] }).toEqual({
      numbers: range(2, 9),
      last: answer('x'.repeat(200_000)),
    });
    expect(asked).toHaveLength(1);
  });

  it('tells a reader behind an end that was lost what the next end has behind its cursor', async () => {
    const { subscription, listener, asked } = derived({ cursor: 12 });
    const all = readAll(subscription);
    asked[0]?.resolve({ ...progress, end: { kind: 'read', json: printed('lost') } });
    await vi.advanceTimersByTimeAsync(0);
    asked[1]?.reject(new Error('Connection is closed.'));
    listener.resync();
    await vi.advanceTimersByTimeAsync(0);
    asked[2]?.resolve(progress);
    listener.offer({ responseId: 'r', events: [], end: printed('one', 'two') });
    expect(await all).toEqual({ numbers: range(13, 15), last: answer('one', 'two') });
  });
});

describe('a subscription that is asked for what is at hand', () => {
  it('gives it page by page, then says that there is nothing yet, and does not wait', async () => {
    const { subscription, log } = subscribed({ readFirst: true });
    log.push(event(0), event(1));
    expect(await subscription.atHand()).toEqual({ events: [event(0), event(1)], end: undefined });
    expect(await subscription.atHand()).toBe('nothing_yet');
    log.push(event(2));
    subscription.offer(message([event(2)]));
    expect(subscription.isBehind).toBe(true);
    expect(await subscription.atHand()).toEqual({ events: [event(2)], end: undefined });
    expect(subscription.isBehind).toBe(false);
  });

  it('rejects while the store is away, and then goes on where it was', async () => {
    const { subscription, log, store } = subscribed({ readFirst: true });
    log.push(event(0));
    store.failures = 1;
    await expect(subscription.atHand()).rejects.toThrow('store is away');
    expect(await subscription.atHand()).toEqual({ events: [event(0)], end: undefined });
  });

  it('says when the response is gone', async () => {
    const { subscription, store } = subscribed({ readFirst: true });
    store.isGone = true;
    expect(await subscription.atHand()).toBe('gone');
  });
});

describe('a subscription that waits', () => {
  it('says once it has caught up, and not while the store is away', async () => {
    const { subscription, log, store } = subscribed({ readFirst: true });
    store.failures = 1;
    let caughtUp = 0;
    const next = subscription.next(never, () => (caughtUp += 1));
    await vi.advanceTimersByTimeAsync(0);
    expect(caughtUp).toBe(0);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(caughtUp).toBe(1);
    log.push(event(0));
    subscription.offer(message([event(0)]));
    expect((await next)?.events).toEqual([event(0)]);
  });

  it('asks the log for nothing while it waits for a short time only', async () => {
    const { subscription, reads } = subscribed({ readFirst: true, looksAgain: false });
    const stopping = new AbortController();
    const next = subscription.next(stopping.signal);
    const isOver = expect(next).rejects.toThrow('enough');
    await vi.advanceTimersByTimeAsync(0);
    const before = reads.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(reads.length).toBe(before);
    stopping.abort(new Error('enough'));
    await isOver;
  });
});
