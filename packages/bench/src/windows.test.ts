import { describe, expect, it } from 'vitest';
import { runningSums, windowSums } from './windows.ts';

const ones = (...times: number[]) => times.map((at) => ({ at, amount: 1 }));

describe('windowSums', () => {
  it('finds the fullest window wherever it begins', () => {
    expect(windowSums(ones(0, 59, 60, 61, 118), { lengthMs: 60, from: 0, to: 120 }).most).toBe(4);
    expect(windowSums(ones(0, 60, 120), { lengthMs: 60, from: 0, to: 120 }).most).toBe(1);
  });

  it('finds the emptiest window between two times', () => {
    expect(windowSums(ones(0, 1, 2, 70), { lengthMs: 60, from: 0, to: 120 }).fewest).toBe(0);
    expect(windowSums(ones(0, 1, 2, 60, 61, 62), { lengthMs: 60, from: 0, to: 62 }).fewest).toBe(3);
  });

  it('has no emptiest window if none is long enough', () => {
    expect(windowSums(ones(0, 1), { lengthMs: 60, from: 0, to: 50 }).fewest).toBeNaN();
  });

  it('adds amounts', () => {
    const counted = [
      { at: 0, amount: 30 },
      { at: 10, amount: 12 },
    ];
    expect(windowSums(counted, { lengthMs: 60, from: 0, to: 60 })).toEqual({ most: 42, fewest: 42 });
  });
});

describe('runningSums', () => {
  it('looks back from each moment', () => {
    const sums = runningSums(ones(0, 10, 20), { lengthMs: 15, from: 0, to: 30, stepMs: 10 });
    expect(sums).toEqual([
      [0, 0],
      [10, 1],
      [20, 1],
      [30, 1],
    ]);
  });
});
