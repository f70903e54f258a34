import { describe, expect, it } from 'vitest';
import { retryDelayMs } from './retry-delay.ts';

describe('the pause before another attempt', () => {
  it('is what the upstream asked for', () => {
    expect(retryDelayMs(1, 1_500)).toBe(1_500);
    expect(retryDelayMs(1, 0)).toBe(0);
  });

  it('is never longer than its cap, whatever the upstream asked for', () => {
    expect(retryDelayMs(1, 3_600_000)).toBe(10_000);
  });

  it('lies anywhere below a bound that doubles up to the cap', () => {
    const bounds = [1, 2, 3, 4, 5, 6, 7].map((attempt) => retryDelayMs(attempt, undefined, () => 1));
    expect(bounds).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    expect(retryDelayMs(3, undefined, () => 0)).toBe(0);
    expect(retryDelayMs(3, undefined, () => 0.5)).toBe(1_000);
  });
});
