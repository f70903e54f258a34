import { describe, expect, it } from 'vitest';
import { type Arrivals, arrivalTimes } from './arrivals.ts';
import { seededRandom } from './random.ts';

function times(kind: Arrivals, rate: number, count: number, seed = 1): number[] {
  const arrivals = arrivalTimes({ kind, rate, random: seededRandom(seed, 'arrivals') });
  return Array.from({ length: count }, () => arrivals.next().value);
}

describe('arrivals', () => {
  it('come evenly when they are constant, without drifting', () => {
    expect(times('constant', 200, 4)).toEqual([0, 5, 10, 15]);
    expect(times('constant', 3, 30_001).at(-1)).toBe(10_000_000);
  });

  it('have the rate and the gaps of independent callers when they are poisson', () => {
    const at = times('poisson', 50, 100_000);
    const gaps = at.map((each, index) => each - (at[index - 1] ?? 0));
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
    expect(mean).toBeCloseTo(20, 0);
    // Exponential gaps: the deviation is the mean, and 1/e of them are longer than the mean.
    expect(deviation / mean).toBeCloseTo(1, 1);
    expect(gaps.filter((gap) => gap > mean).length / gaps.length).toBeCloseTo(1 / Math.E, 2);
  });

  it('are the same for the same seed', () => {
    expect(times('poisson', 50, 100)).toEqual(times('poisson', 50, 100));
    expect(times('poisson', 50, 100)).not.toEqual(times('poisson', 50, 100, 2));
  });
});
