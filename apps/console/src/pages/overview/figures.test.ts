import type { Bucket } from '@sluice/contract/admin';
import { describe, expect, it } from 'vitest';
import {
  byMinute,
  errorRate,
  fitting,
  latestFirstToken,
  queueSums,
  recentOf,
  refusalRate,
} from './figures.ts';

const start = 1_800_000_000_000 - (1_800_000_000_000 % 60_000);

function bucket(seconds: number, given: Partial<Bucket> = {}): Bucket {
  return {
    at: start + seconds * 1000,
    ...{ accepted: 0, completed: 0, incomplete: 0, failed: 0, cancelled: 0, refused: 0 },
    ...{ input_tokens: 0, output_tokens: 0, first_token_p50_ms: null, first_token_p99_ms: null },
    ...{ wait_p50_ms: null, wait_p99_ms: null, run_p50_ms: null, run_p99_ms: null },
    ...given,
  };
}

describe('recentOf', () => {
  it('takes the buckets that reach back far enough and divides by the time that they cover', () => {
    const buckets = Array.from({ length: 12 }, (_, at) => bucket(at * 10, { accepted: 10 }));
    const recent = recentOf({ at: start + 115_000, buckets }, 60_000);
    expect(recent?.buckets.map(({ at }) => (at - start) / 1000)).toEqual([50, 60, 70, 80, 90, 100, 110]);
    expect(recent?.seconds).toBe(65);
    expect(recent?.rate('accepted')).toBeCloseTo(70 / 65);
  });

  it('takes what there is when the service is younger than that', () => {
    const recent = recentOf(
      { at: start + 15_000, buckets: [bucket(0, { accepted: 3 }), bucket(10)] },
      60_000,
    );
    expect(recent?.seconds).toBe(15);
    expect(recent?.sum('accepted')).toBe(3);
  });

  it('makes no burst of a bucket that has only begun', () => {
    expect(
      recentOf({ at: start + 100, buckets: [bucket(0, { accepted: 5 })] }, 60_000)?.rate('accepted'),
    ).toBe(1);
  });

  it('is undefined without statistics', () => {
    expect(recentOf({ at: start, buckets: [] }, 60_000)).toBeUndefined();
  });
});

describe('rates of failures and refusals', () => {
  const of = (given: Partial<Bucket>) =>
    recentOf({ at: start + 10_000, buckets: [bucket(0, given)] }, 10_000);

  it('count those that ended by themselves', () => {
    const recent = of({ failed: 1, completed: 2, incomplete: 1, cancelled: 96 });
    expect(recent && errorRate(recent)).toBe(0.25);
    const refused = of({ refused: 1, accepted: 3 });
    expect(refused && refusalRate(refused)).toBe(0.25);
  });

  it('are unknown when nothing happened', () => {
    const recent = of({});
    expect(recent && errorRate(recent)).toBeNull();
    expect(recent && refusalRate(recent)).toBeNull();
  });
});

describe('latestFirstToken', () => {
  const buckets = [bucket(0, { first_token_p50_ms: 100, first_token_p99_ms: 900 }), bucket(10)];

  it('looks back over buckets without streams', () => {
    expect(latestFirstToken({ at: start + 12_000, buckets }, 300_000)).toEqual({ p50: 100, p99: 900 });
  });

  it('does not show old times as those of now', () => {
    expect(latestFirstToken({ at: start + 400_000, buckets }, 300_000)).toBeUndefined();
  });
});

describe('sums', () => {
  it('adds up the queues and keeps the longest wait', () => {
    const queue = {
      queue: 'q',
      models: [],
      paused: false,
      waiting: 2,
      active: 1,
      concurrency: null,
      slots: 4,
    };
    expect(queueSums([])).toEqual({ active: 0, capacity: 0, waiting: 0, oldestWaitMs: null });
    expect(
      queueSums([
        { ...queue, oldest_wait_ms: null },
        { ...queue, oldest_wait_ms: 900 },
      ]),
    ).toEqual({ active: 2, capacity: 8, waiting: 4, oldestWaitMs: 900 });
  });

  it('makes minutes of shorter spans', () => {
    const minutes = byMinute([
      bucket(0, { failed: 1 }),
      bucket(50, { failed: 2 }),
      bucket(60, { failed: 4 }),
    ]);
    expect(minutes.map(({ at, failed }) => [(at - start) / 1000, failed])).toEqual([
      [0, 3],
      [60, 4],
    ]);
  });

  it('leaves out a first minute whose beginning is gone, unless it is the only one', () => {
    const late = [bucket(20, { failed: 2 }), bucket(60, { failed: 4 })];
    expect(byMinute(late).map(({ failed }) => failed)).toEqual([4]);
    expect(byMinute(late.slice(0, 1)).map(({ failed }) => failed)).toEqual([2]);
  });
});

describe('the buckets of a chart', () => {
  const many = (from: number) =>
    Array.from({ length: 360 }, (_, at) => bucket(at * 10, at >= from ? { accepted: 1 } : {}));

  it('begin with the first in which anything happened', () => {
    expect(fitting(many(100))[0]?.at).toBe(many(0)[100]?.at);
    expect(fitting(many(0))).toHaveLength(360);
  });

  it('go back five minutes at least', () => {
    expect(fitting(many(359))).toHaveLength(30);
    expect(fitting(many(360))).toHaveLength(30);
    expect(fitting(many(0).slice(0, 3))).toHaveLength(3);
    expect(fitting([])).toEqual([]);
  });
});
