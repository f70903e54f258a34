import { describe, expect, it } from 'vitest';
import { SentAway } from './sent-away.ts';

describe('responses that were sent away from a line', () => {
  it('come back as soon as ever while they are few', () => {
    const away = new SentAway({ now: () => 0 });
    for (let each = 0; each < 100; each += 1) away.add(away.nextMs(1_000, 20));
    expect(away.nextMs(1_000, 20)).toBe(1_000);
    for (let each = 0; each < 100; each += 1) away.add(away.nextMs(1_000, 20));
    expect(away.nextMs(1_000, 20)).toBe(2_000);
    expect(away.nextMs(1_000, 100)).toBe(1_000);
  });

  it('are counted until they are due', () => {
    let at = 0;
    const away = new SentAway({ now: () => at });
    for (const awayMs of [500, 1_500, 29_000, 900_000]) away.add(awayMs);
    expect(away.size).toBe(4);
    at = 2_000;
    expect(away.size).toBe(2);
    away.add(29_500);
    at = 31_000;
    expect(away.size).toBe(1);
    at = 3_000_000;
    expect(away.size).toBe(0);
  });
});
