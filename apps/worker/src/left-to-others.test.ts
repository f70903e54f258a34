import { describe, expect, it } from 'vitest';
import { LeftToOthers } from './left-to-others.ts';

function setUp(random = 0.5) {
  let passedMs = 0;
  const others = new LeftToOthers({ now: () => passedMs, random: () => random });
  const pass = (ms: number) => {
    passedMs += ms;
  };
  return { others, pass };
}

describe('responses of another release', () => {
  it('are offered again soon, as often as it takes', () => {
    const { others } = setUp();
    expect(Array.from({ length: 100 }, () => others.pauseMs('r'))).toEqual(Array(100).fill(100));
  });

  it.each([
    ['earliest', 0, 50],
    ['latest', 0.999, 149.9],
  ])('are offered again at random, at the %s', (_, random, pauseMs) => {
    expect(setUp(random).others.pauseMs('r')).toBeCloseTo(pauseMs);
  });

  it('are left alone for longer the more there are, so that a worker looks at 200 a second at most', () => {
    const { others } = setUp();
    const pauses = Array.from({ length: 2_000 }, (_, at) => others.pauseMs(`r${at}`));
    expect([pauses[0], pauses[19], pauses[20], pauses[399], pauses[999], pauses[1_999]]).toEqual([
      100, 100, 105, 2_000, 5_000, 5_000,
    ]);
    expect(others.size).toBe(1_000);
  });

  it('are forgotten when they do not come back', () => {
    const { others, pass } = setUp();
    for (let at = 0; at < 100; at += 1) others.pauseMs(`gone ${at}`);
    pass(9_000);
    expect(others.pauseMs('r')).toBe(505);
    pass(1_000);
    expect(others.pauseMs('r')).toBe(100);
    expect(others.size).toBe(1);
  });
});
