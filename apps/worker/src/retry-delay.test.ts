import { describe, expect, it } from 'vitest';
import { retryDelayMs } from './retry-delay.ts';

function delayMs(attempt: number, retryAfterMs: number | undefined, random = 0): number {
  return retryDelayMs(attempt, { retryAfterMs, longestRetryAfterMs: 60_000, random: () => random });
}

describe('the pause before another attempt', () => {
  it('is what the upstream asked for, and never less', () => {
    expect(delayMs(1, 1_500)).toBe(1_500);
    expect(delayMs(1, 0)).toBe(0);
  });

  it('has a random time on top of it, a quarter at most and never more than five seconds', () => {
    expect(delayMs(1, 2_000, 1)).toBe(2_500);
    expect(delayMs(1, 2_000, 0.5)).toBe(2_250);
    expect(delayMs(1, 60_000, 1)).toBe(65_000);
  });

  it('obeys up to a cap, whatever the upstream asked for', () => {
    expect(delayMs(1, 3_600_000)).toBe(60_000);
  });

  it('lies anywhere below a bound that doubles up to the cap', () => {
    const bounds = [1, 2, 3, 4, 5, 6, 7].map((attempt) => delayMs(attempt, undefined, 1));
    expect(bounds).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    expect(delayMs(3, undefined, 0)).toBe(0);
    expect(delayMs(3, undefined, 0.5)).toBe(1_000);
  });

  it('falls into each tenth of its bound alike', () => {
    const draws = 10_000;
    const tenths = Array.from({ length: 10 }, () => 0);
    for (let draw = 0; draw < draws; draw += 1) {
      const at = Math.floor((delayMs(2, undefined, (draw + 0.5) / draws) / 1_000) * 10);
      tenths[at] = (tenths[at] ?? 0) + 1;
    }
    expect(tenths).toEqual(tenths.map(() => draws / 10));
  });
});
