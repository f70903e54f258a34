import { describe, expect, it } from 'vitest';
import { ParkedRoute } from '../parked-route.ts';
import { CallPace } from './call-pace.ts';

/** Whether an upstream takes a call at a time, in milliseconds. */
type Upstream = (at: number) => boolean;

/** A token bucket that holds as many as it gets in a second, unless it says otherwise. */
function bucket(rateAt: (at: number) => number, capacity = rateAt(0)): Upstream {
  let tokens = capacity;
  let last = 0;
  return (at) => {
    tokens = Math.min(capacity, tokens + ((at - last) * rateAt(at)) / 1000);
    last = at;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}

/** So many in each second of the clock. */
function fixedWindow(rate: number): Upstream {
  let second = -1;
  let taken = 0;
  return (at) => {
    if (Math.floor(at / 1000) !== second) taken = 0;
    second = Math.floor(at / 1000);
    taken += 1;
    return taken <= rate;
  };
}

/** So many in any second. */
function slidingWindow(rate: number): Upstream {
  let taken: number[] = [];
  return (at) => {
    taken = taken.filter((each) => each > at - 1000);
    if (taken.length >= rate) return false;
    taken.push(at);
    return true;
  };
}

interface Run {
  /** Calls that were taken between two times, in seconds. */
  takenBetween: (from: number, to: number) => number;
  refused: number;
  /** The pace at the end. */
  perSecond: number;
}

/** Calls an upstream as often as it may be, with so many slots, for some seconds of a clock that is not real. */
function run(
  upstream: Upstream,
  { seconds, retryAfterMs }: { seconds: number; retryAfterMs: number | undefined },
): Run {
  const slots = 32;
  let at = 0;
  const now = () => at;
  const pace = new CallPace({ now, random: () => 0.5 });
  const parked = new ParkedRoute({ longestMs: 60_000, now });
  const takenAt: number[] = [];
  let refused = 0;
  let inFlight: { calledAt: number; endsAt: number; isTaken: boolean }[] = [];
  while (at < seconds * 1000) {
    for (const { calledAt, isTaken } of inFlight.filter(({ endsAt }) => endsAt <= at)) {
      if (isTaken) {
        parked.answered(calledAt);
        takenAt.push(at);
        continue;
      }
      refused += 1;
      parked.limited(calledAt, retryAfterMs);
      pace.refused(calledAt, at + parked.waitMs);
    }
    inFlight = inFlight.filter(({ endsAt }) => endsAt > at);
    while (parked.waitMs === 0 && pace.turns > 0 && inFlight.length < slots) {
      pace.begin();
      const isTaken = upstream(at);
      inFlight.push({ calledAt: at, endsAt: at + (isTaken ? 3 : 1), isTaken });
    }
    at += 1;
  }
  return {
    takenBetween: (from, to) => takenAt.filter((each) => each >= from * 1000 && each < to * 1000).length,
    refused,
    perSecond: pace.perSecond,
  };
}

describe('the pace of calls', () => {
  it('is unbounded as long as the upstream refuses nothing', () => {
    const { refused, perSecond } = run(() => true, { seconds: 10, retryAfterMs: undefined });
    expect({ refused, perSecond }).toEqual({ refused: 0, perSecond: Number.POSITIVE_INFINITY });
  });

  it.each(
    [20, 50, 200].flatMap((rate) => [undefined, 1_000].map((retryAfterMs) => ({ rate, retryAfterMs }))),
  )(
    'uses nine tenths and more of a bucket of $rate a second, with Retry-After of $retryAfterMs ms',
    ({ rate, retryAfterMs }) => {
      const { takenBetween, refused } = run(
        bucket(() => rate),
        { seconds: 60, retryAfterMs },
      );
      expect(takenBetween(0, 30) / (30 * rate)).toBeGreaterThan(0.93);
      expect(takenBetween(0, 60) / (60 * rate)).toBeGreaterThan(0.93);
      // The slots of the first burst, and a few for each time that it looks for more.
      expect(refused).toBeLessThan(60);
    },
  );

  it.each([
    ['a window of the clock', fixedWindow(50)],
    ['a window that slides', slidingWindow(50)],
    ['a bucket that holds a tenth of a second', bucket(() => 50, 5)],
  ] as const)('comes to nine tenths of %s that saves nothing up', (_, upstream) => {
    const { takenBetween } = run(upstream, { seconds: 120, retryAfterMs: undefined });
    expect(takenBetween(30, 120) / (90 * 50)).toBeGreaterThan(0.9);
  });

  it('follows an upstream that takes less from now on, and more again', () => {
    const rateAt = (at: number) => (at >= 30_000 && at < 60_000 ? 20 : 100);
    const { takenBetween } = run(bucket(rateAt, 20), { seconds: 180, retryAfterMs: 1_000 });
    expect(takenBetween(35, 60) / (25 * 20)).toBeGreaterThan(0.8);
    expect(takenBetween(35, 60) / (25 * 20)).toBeLessThanOrEqual(1.05);
    expect(takenBetween(120, 180) / (60 * 100)).toBeGreaterThan(0.85);
  });

  it('is forgotten when nothing is refused any more', () => {
    const limited = bucket(() => 20);
    const upstream: Upstream = (at) => at >= 10_000 || limited(at);
    expect(run(upstream, { seconds: 90, retryAfterMs: 1_000 }).perSecond).toBe(Number.POSITIVE_INFINITY);
  });

  it('never stops for good, whatever is refused', () => {
    const upstream: Upstream = (at) => at >= 120_000;
    const { takenBetween } = run(upstream, { seconds: 180, retryAfterMs: undefined });
    expect(takenBetween(135, 180)).toBeGreaterThan(100);
  });

  it('gives its turns to the calls that keep it, however many others there are', () => {
    let at = 0;
    const pace = new CallPace({ now: () => at, random: () => 0 });
    pace.begin();
    pace.refused(0, 1_000);
    at = 1_000;
    for (let call = 0; call < 100; call += 1) pace.begin(false);
    expect(pace.turns).toBe(1);
    pace.begin();
    expect(pace.waitMs).toBeLessThanOrEqual(100);
  });

  it('does not take a refusal for its own doing when the upstream took none since the last', () => {
    let at = 0;
    const pace = new CallPace({ now: () => at, random: () => 0 });
    pace.begin();
    expect(pace.refused(0, 1_000)).toBe(true);
    at = 1_000;
    pace.begin();
    expect(pace.refused(1_000, 2_000)).toBe(false);
  });
});
