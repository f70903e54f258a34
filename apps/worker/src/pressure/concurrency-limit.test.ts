import { describe, expect, it } from 'vitest';
import { ConcurrencyLimit } from './concurrency-limit.ts';

/** Fills an upstream that takes so many at a time, round by round; a round is one call for each slot. */
function rounds(limit: ConcurrencyLimit, count: number, capacity: number, from = 0): void {
  for (let round = 0; round < count; round += 1) {
    const at = from + round;
    const calls = limit.room;
    for (let call = 0; call < calls; call += 1) limit.begin();
    for (let call = 0; call < calls; call += 1) {
      const isRefused = calls - call > capacity;
      if (!isRefused) limit.succeeded();
      limit.ended();
      if (isRefused) limit.overloaded(at, at + 0.5);
    }
  }
}

describe('a limit of calls at a time', () => {
  it('follows another number of slots, but for one that was lowered', () => {
    const limit = new ConcurrencyLimit({ floor: 4, most: 8 });
    limit.most = 16;
    expect(limit.limit).toBe(16);
    limit.lower(0.5);
    limit.most = 32;
    expect(limit.limit).toBe(8);
    limit.most = 2;
    expect(limit.limit).toBe(2);
    limit.lower(0.5);
    expect(limit.limit).toBe(2);
  });

  it('is all slots as long as nothing is refused', () => {
    const limit = new ConcurrencyLimit({ floor: 1, most: 32 });
    rounds(limit, 10, Number.POSITIVE_INFINITY);
    expect(limit.limit).toBe(32);
    expect(limit.isLowered).toBe(false);
  });

  it('comes to what the upstream takes, and stays about there', () => {
    const limit = new ConcurrencyLimit({ floor: 1, most: 100 });
    rounds(limit, 40, 20);
    for (let at = 40; at < 140; at += 1) {
      rounds(limit, 1, 20, at);
      expect(limit.limit).toBeGreaterThanOrEqual(16);
      expect(limit.limit).toBeLessThanOrEqual(21);
    }
  });

  it('is all slots again when the upstream takes everything', () => {
    const limit = new ConcurrencyLimit({ floor: 1, most: 32 });
    rounds(limit, 30, 5);
    expect(limit.limit).toBeLessThan(10);
    rounds(limit, 60, Number.POSITIVE_INFINITY, 100);
    expect(limit.limit).toBe(32);
  });

  it('is never under its floor, nor over its most', () => {
    const limit = new ConcurrencyLimit({ floor: 4, most: 32 });
    for (let at = 0; at < 1_000; at += 1) {
      limit.overloaded(at, at);
      expect(limit.limit).toBeGreaterThanOrEqual(4);
    }
    expect(limit.limit).toBe(4);
    rounds(limit, 1_000, Number.POSITIVE_INFINITY, 2_000);
    expect(limit.limit).toBe(32);
    expect(new ConcurrencyLimit({ floor: 50, most: 8 }).limit).toBe(8);
  });

  it('is lowered once for calls that were under way together', () => {
    const limit = new ConcurrencyLimit({ floor: 1, most: 100 });
    for (let call = 0; call < 100; call += 1) limit.begin();
    for (let call = 0; call < 10; call += 1) limit.overloaded(1, 2 + call);
    expect(limit.limit).toBe(90);
  });

  it('does not grow by calls that never came near it', () => {
    const limit = new ConcurrencyLimit({ floor: 1, most: 100 });
    for (let call = 0; call < 100; call += 1) limit.begin();
    limit.overloaded(1, 2);
    for (let call = 0; call < 99; call += 1) limit.ended();
    for (let call = 0; call < 1_000; call += 1) limit.succeeded();
    expect(limit.limit).toBe(90);
  });
});
