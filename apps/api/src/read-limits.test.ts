import { describe, expect, it } from 'vitest';
import { ReadLimits } from './read-limits.ts';

function limitsAt(start: number) {
  const clock = { now: start };
  return { clock, limits: new ReadLimits({ now: () => clock.now }) };
}

describe('the reads of a tenant', () => {
  it('are so many in a minute, and then a wait after which one fits', () => {
    const { clock, limits } = limitsAt(5_400);
    expect(limits.count('a', 3)).toBeUndefined();
    clock.now = 20_900;
    expect(limits.count('a', 3)).toBeUndefined();
    expect(limits.count('a', 3)).toBeUndefined();
    expect(limits.count('a', 3)).toBe(65_000 - 20_900);
    clock.now = 64_999;
    expect(limits.count('a', 3)).toBe(1);
    clock.now = 65_000;
    expect(limits.count('a', 3)).toBeUndefined();
    expect(limits.count('a', 3)).toBe(80_000 - 65_000);
  });

  it('are forgotten after a minute, however long nobody came', () => {
    const { clock, limits } = limitsAt(0);
    for (let at = 0; at < 60; at += 1) {
      clock.now = at * 1000;
      expect(limits.count('a', 60)).toBeUndefined();
    }
    expect(limits.count('a', 60)).toBe(1_000);
    clock.now = 10_000_000;
    for (let at = 0; at < 60; at += 1) expect(limits.count('a', 60)).toBeUndefined();
    expect(limits.count('a', 60)).toBe(60_000);
  });

  it('do not count for a neighbour', () => {
    const { limits } = limitsAt(1_000);
    expect(limits.count('a', 1)).toBeUndefined();
    expect(limits.count('a', 1)).toBe(60_000);
    expect(limits.count('b', 1)).toBeUndefined();
  });

  it('follow a limit that changes', () => {
    const { clock, limits } = limitsAt(0);
    for (let at = 0; at < 10; at += 1) {
      clock.now = at * 1000;
      limits.count('a', 10);
    }
    expect(limits.count('a', 4)).toBe(66_000 - 9_000);
    expect(limits.count('a', 11)).toBeUndefined();
  });
});
