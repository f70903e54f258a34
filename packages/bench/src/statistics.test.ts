import { describe, expect, it } from 'vitest';
import { median, percentile, spread } from './statistics.ts';

describe('median', () => {
  it('is the middle of an odd number of samples, whatever their order', () => {
    expect(median([9, 1, 5])).toBe(5);
  });

  it('is the mean of the two in the middle of an even number', () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  it('is no number without samples', () => {
    expect(median([])).toBeNaN();
  });
});

describe('percentile', () => {
  it('is a sample by nearest rank', () => {
    const samples = Array.from({ length: 100 }, (_, at) => 100 - at);
    expect(percentile(samples, 0.5)).toBe(50);
    expect(percentile(samples, 0.99)).toBe(99);
    expect(percentile([7], 0.99)).toBe(7);
  });
});

describe('spread', () => {
  it('keeps the extremes beside the median', () => {
    expect(spread([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 });
  });
});
