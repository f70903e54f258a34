import { describe, expect, it } from 'vitest';
import { Histogram } from './histogram.ts';
import { seededRandom } from '../load/random.ts';

/** The exact value by nearest rank. */
function exact(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

function histogramOf(samples: readonly number[]): Histogram {
  const histogram = new Histogram();
  for (const sample of samples) histogram.add(sample);
  return histogram;
}

const random = seededRandom(1, 'samples');
const many = (make: () => number) => Array.from({ length: 20_000 }, make);

describe('a histogram', () => {
  it.each([
    { shape: 'even ones', samples: many(() => random() * 1000) },
    { shape: 'a long tail', samples: many(() => 20 * (1 - random()) ** -1.5) },
    { shape: 'two humps', samples: many(() => (random() < 0.9 ? 5 : 30_000) + random()) },
    { shape: 'microseconds', samples: many(() => Math.floor(random() * 400) / 1000) },
    { shape: 'a few', samples: [3, 1, 2] },
  ])('has percentiles that are at most 0.2 percent off the exact ones: $shape', ({ samples }) => {
    const histogram = histogramOf(samples);
    for (const share of [0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1]) {
      const wanted = Math.min(exact(samples, share), 4_294_967.295);
      // Half a microsecond more is lost when a sample is added.
      expect(Math.abs(histogram.percentile(share) - wanted)).toBeLessThanOrEqual(wanted * 0.002 + 0.0006);
    }
  });

  it('knows the count, the mean, the smallest and the largest exactly', () => {
    expect(histogramOf([1.234567, 1000.5, 87.25, 0]).distribution()).toMatchObject({
      count: 4,
      mean: 272.24625,
      min: 0,
      max: 1000.5,
    });
  });

  it('gives one sample as each percentile', () => {
    expect(histogramOf([1234.567]).distribution()).toEqual({
      count: 1,
      ...{ mean: 1234.567, min: 1234.567, p50: 1234.567, p90: 1234.567, p99: 1234.567, max: 1234.567 },
    });
  });

  it('has nothing to say without samples', () => {
    expect(new Histogram().distribution()).toBeUndefined();
    expect(new Histogram().percentile(0.5)).toBeNaN();
  });

  it('takes what a clock should not give', () => {
    expect(histogramOf([-1, 1e12]).distribution()).toMatchObject({ count: 2, min: 0, max: 4_294_967.295 });
  });

  it('tells values apart at the edges of its buckets', () => {
    for (let power = 1; power < 31; power++) {
      const edge = 2 ** power / 1000;
      const below = (2 ** power - 1) / 1000;
      const histogram = histogramOf([below, edge, edge * 1.5]);
      expect(histogram.percentile(0.3)).toBeLessThanOrEqual(histogram.percentile(0.6));
      expect(Math.abs(histogram.percentile(0.6) / edge - 1)).toBeLessThanOrEqual(0.002);
    }
  });
});
