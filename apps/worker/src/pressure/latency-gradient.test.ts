import { randomFrom } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { LatencyGradient } from './latency-gradient.ts';

/** A time with a long tail: most are near the median, some are ten times as long. */
function noisy(medianMs: number, random: () => number): number {
  const normal = Math.sqrt(-2 * Math.log(random() || 0.5)) * Math.cos(2 * Math.PI * random());
  return medianMs * Math.exp(0.8 * normal);
}

/** The shares by which the limit would change, in order. */
function sharesOf(all: Iterable<[size: number, ms: number]>, tolerance = 2): number[] {
  const gradient = new LatencyGradient(tolerance);
  return [...all].flatMap(([size, ms]) => gradient.add('team', size, ms)?.share ?? []);
}

function* answers(count: number, answer: (at: number) => [number, number]): Generator<[number, number]> {
  for (let at = 0; at < count; at += 1) yield answer(at);
}

describe('the gradient of latency', () => {
  it('leaves a healthy upstream alone, however noisy its latency is', () => {
    const random = randomFrom(42);
    const shares = sharesOf(answers(20_000, () => [100, noisy(200, random)]));
    expect(shares.length).toBeGreaterThan(900);
    expect(new Set(shares)).toEqual(new Set([1]));
  });

  it('leaves it alone when prompts become long, which take longer', () => {
    const random = randomFrom(42);
    const shares = sharesOf(
      answers(10_000, (at) => {
        const size = at < 5_000 || at % 3 === 0 ? 100 : 20_000;
        return [size, noisy(size, random)];
      }),
    );
    expect(new Set(shares)).toEqual(new Set([1]));
  });

  it('lowers the limit when prompts of the same size take several times as long', () => {
    const random = randomFrom(42);
    const shares = sharesOf(answers(600, (at) => [100, noisy(at < 400 ? 200 : 1_600, random)]));
    expect(Math.min(...shares)).toBeCloseTo(0.9, 1);
    expect(shares.at(0)).toBe(1);
  });

  it('learns that an upstream has become faster', () => {
    const random = randomFrom(42);
    const shares = sharesOf(
      answers(8_000, (at) => [100, noisy(at < 1_000 ? 2_000 : at < 7_000 ? 200 : 1_600, random)]),
    );
    // Only the slow ones at the end, which are faster than those at the beginning.
    expect(shares.slice(0, 300).every((share) => share === 1)).toBe(true);
    expect(Math.min(...shares.slice(-40))).toBeLessThan(1);
  });

  it('never takes more than a tenth at a time', () => {
    const shares = sharesOf(answers(200, (at) => [100, at < 100 ? 1 : 1e6]));
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(0.9);
  });
});
