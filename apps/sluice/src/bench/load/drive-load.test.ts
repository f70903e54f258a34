import { eventually, latch } from '@sluice/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Extent, Load } from '../flags/bench-settings.ts';
import { driveLoad, type LoadCounts } from './drive-load.ts';
import { seededRandom } from './random.ts';

afterEach(() => vi.useRealTimers());

interface Driven {
  done: Promise<void>;
  counts: LoadCounts;
  /** When each request was due, and ends it. */
  sent: { dueAt: number; sentAt: number; end: () => void }[];
  skipped: () => number;
  most: () => number;
  stop: AbortController;
}

/** Drives a load whose requests end when the test says so, or at once. */
function drive(load: Load, extent: Extent, { atOnce = false } = {}): Driven {
  const counts: LoadCounts = { begun: 0, outstanding: 0, isSent: false };
  const stop = new AbortController();
  const sent: Driven['sent'] = [];
  let skipped = 0;
  let open = 0;
  let most = 0;
  const next = () => ({
    async send(dueAt: number) {
      const gate = latch();
      sent.push({ dueAt, sentAt: performance.now(), end: () => gate.open() });
      open += 1;
      most = Math.max(most, open);
      if (atOnce) await Promise.resolve();
      else await gate.wait();
      open -= 1;
    },
    skip() {
      skipped += 1;
    },
  });
  const done = driveLoad({ load, extent, random: seededRandom(1, 'x'), next, stop: stop.signal, counts });
  return { done, counts, sent, skipped: () => skipped, most: () => most, stop };
}

const constant = (rate: number, mostOutstanding = 1000): Load => ({
  kind: 'open',
  rate,
  arrivals: 'constant',
  mostOutstanding,
});

describe('a closed loop', () => {
  it('sends so many at a time, and the next one after an answer', async () => {
    const { done, sent, counts } = drive({ kind: 'closed', concurrency: 3 }, { requests: 5 });
    expect(sent).toHaveLength(3);
    sent[1]?.end();
    await eventually(() => sent.length === 4);
    expect(counts).toMatchObject({ begun: 4, outstanding: 3, isSent: false });
    for (let at = 0; at < 5; at++) {
      await eventually(() => sent.length > at);
      sent[at]?.end();
    }
    await done;
    expect(counts).toEqual({ begun: 5, outstanding: 0, isSent: true });
  });

  it('never has more under way, and sends exactly as many as it should', async () => {
    const { done, sent, most } = drive(
      { kind: 'closed', concurrency: 7 },
      { requests: 1000 },
      { atOnce: true },
    );
    await done;
    expect([sent.length, most()]).toEqual([1000, 7]);
  });

  it('stops when the time is over', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { done, sent } = drive({ kind: 'closed', concurrency: 1 }, { durationMs: 30 });
    vi.advanceTimersByTime(31);
    sent[0]?.end();
    await done;
    expect(sent).toHaveLength(1);
  });

  it('stops sending when it is told to, and waits for what is under way', async () => {
    const { done, sent, stop } = drive({ kind: 'closed', concurrency: 2 }, { requests: 100 });
    stop.abort();
    sent[0]?.end();
    sent[1]?.end();
    await done;
    expect(sent).toHaveLength(2);
  });
});

describe('an open loop', () => {
  it('sends at its times although nothing is answered, and says when each was due', async () => {
    const { done, sent } = drive(constant(200), { requests: 20 });
    await eventually(() => sent.length === 20);
    const [first] = sent;
    const due = sent.map(({ dueAt }) => dueAt - (first?.dueAt ?? 0));
    expect(due.map((ms) => Math.round(ms))).toEqual(Array.from({ length: 20 }, (_, at) => at * 5));
    // None is sent before it is due.
    expect(sent.filter(({ dueAt, sentAt }) => sentAt < dueAt)).toEqual([]);
    for (const { end } of sent) end();
    await done;
  });

  it('keeps the times at which requests were due while the tool was held up', async () => {
    const { done, sent } = drive(constant(200), { requests: 50 });
    await eventually(() => sent.length > 2);
    const from = performance.now();
    while (performance.now() - from < 60);
    await eventually(() => sent.length === 50);
    const late = sent.map(({ dueAt, sentAt }) => sentAt - dueAt);
    expect(Math.max(...late)).toBeGreaterThan(40);
    expect((sent.at(-1)?.dueAt ?? 0) - (sent[0]?.dueAt ?? 0)).toBeCloseTo(245, 3);
    for (const { end } of sent) end();
    await done;
  });

  it('counts what is due while too many are outstanding, and does not send it', async () => {
    const { done, sent, skipped, counts, most } = drive(constant(1000, 4), { requests: 30 });
    await eventually(() => counts.isSent);
    expect([sent.length, skipped(), counts.begun]).toEqual([4, 26, 30]);
    for (const { end } of sent) end();
    await done;
    expect(most()).toBe(4);
  });

  it('has as many requests as fit into its time', async () => {
    const { done, sent } = drive(constant(1000), { durationMs: 40 }, { atOnce: true });
    await done;
    expect(sent).toHaveLength(40);
  });

  it('stops at once when it is told to', async () => {
    const { done, sent, stop } = drive(constant(0.01), { requests: 100 });
    await eventually(() => sent.length === 1);
    stop.abort();
    sent[0]?.end();
    await done;
    expect(sent).toHaveLength(1);
  });
});
