import { describe, expect, it } from 'vitest';
import { parseWeight, weightOf } from './waiting.ts';

describe('the weight of waiting responses', () => {
  it('holds their number and their size in one counter', () => {
    const sizes = [1, 1_024, 1_025, 60_000_000];
    const sum = sizes.reduce((weight, bytes) => weight + weightOf(bytes), 0);
    expect(parseWeight(String(sum))).toEqual({ responses: 4, bytes: (1 + 1 + 2 + 58_594) * 1_024 });
  });

  it('is exact with a million responses of a megabyte', () => {
    const sum = weightOf(1_048_576) * 1_000_000;
    expect(Number.isSafeInteger(sum)).toBe(true);
    expect(parseWeight(String(sum))).toEqual({ responses: 1_000_000, bytes: 1_048_576_000_000 });
  });

  it('has no size where a lost counter was borrowed from', () => {
    const lost = 3 * weightOf(1_024) - weightOf(60_000_000);
    expect(parseWeight(String(lost))).toMatchObject({ bytes: 0 });
  });

  it('is nothing without a counter', () => {
    expect(parseWeight(null)).toEqual({ responses: 0, bytes: 0 });
  });
});
