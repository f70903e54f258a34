import { describe, expect, it } from 'vitest';
import { add, type Sums } from './sums.ts';
import { binOf, quantileOf } from './time-bins.ts';

const counted = (times: readonly number[]): Sums => {
  const sums: Sums = {};
  for (const ms of times) add(sums, binOf(ms), 1);
  return sums;
};

/** The true value at a share of the times. */
const at = (times: readonly number[], share: number): number => {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
};

describe('a quantile of counted times', () => {
  it('is not known of none', () => {
    expect(quantileOf({}, 0.5)).toBeUndefined();
    expect(quantileOf({ accepted: 3 }, 0.5)).toBeUndefined();
  });

  const cases: Record<string, number[]> = {
    'a single one': [250],
    'equal ones': Array.from({ length: 100 }, () => 37),
    'a straight line': Array.from({ length: 1000 }, (_, n) => n + 1),
    'a long tail': Array.from({ length: 5000 }, (_, n) => 20 * 1.002 ** n),
    'two crowds': [...Array.from({ length: 90 }, () => 12), ...Array.from({ length: 10 }, () => 9_000)],
    'ten minutes and more': [600_000, 601_000, 1_200_000],
  };
  it.each(Object.entries(cases))('is within a bin of the true one for %s', (_name, times) => {
    for (const share of [0.5, 0.9, 0.99, 1]) {
      const [found, truth] = [quantileOf(counted(times), share) ?? Number.NaN, at(times, share)];
      expect(found / truth).toBeGreaterThan(1 / 1.2);
      expect(found / truth).toBeLessThan(1.2);
    }
  });

  it('never falls as its share grows', () => {
    const sums = counted(Array.from({ length: 300 }, (_, n) => (n * 7919) % 4000));
    const found = Array.from({ length: 101 }, (_, share) => quantileOf(sums, share / 100) ?? Number.NaN);
    expect(found).toEqual(found.toSorted((one, other) => one - other));
  });

  it('takes times without a logarithm, and those past the last bin', () => {
    expect(quantileOf(counted([0, 0, -5]), 1)).toBe(1);
    expect(quantileOf(counted([1e12]), 0.5)).toBeGreaterThan(4 * 3_600_000);
  });

  it('has few bins however many times there are', () => {
    expect(Object.keys(counted(Array.from({ length: 100_000 }, (_, n) => n))).length).toBeLessThan(75);
  });
});
