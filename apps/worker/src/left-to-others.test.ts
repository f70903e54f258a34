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
    const { others, pass } = setUp();
    for (let times = 0; times < 100; times += 1) {
      for (let few = 0; few < 20; few += 1) expect(others.pauseMs()).toBe(100);
      pass(100);
    }
  });

  it.each([
    ['earliest', 0, 50],
    ['latest', 0.999, 149.9],
  ])('are offered again at random, at the %s', (_, random, pauseMs) => {
    expect(setUp(random).others.pauseMs()).toBeCloseTo(pauseMs);
  });

  it('are left alone for longer the more there are, up to some minutes', () => {
    const { others } = setUp();
    const pauses = Array.from({ length: 70_000 }, () => others.pauseMs());
    expect([pauses[0], pauses[19], pauses[20], pauses[399], pauses[59_999], pauses[69_999]]).toEqual([
      100, 100, 105, 2_000, 300_000, 300_000,
    ]);
  });

  it.each([1_000, 10_000, 50_000])('are looked at no more than 200 times a second when %d wait', (count) => {
    const { others, pass } = setUp();
    const stepMs = 50;
    /** How many come back at each step. */
    const back = new Map<number, number>([[0, count]]);
    let looks = 0;
    const measuredFrom = 600_000;
    const measuredTo = 1_200_000;
    for (let now = 0; now < measuredTo; now += stepMs) {
      for (let left = back.get(now) ?? 0; left > 0; left -= 1) {
        if (now >= measuredFrom) looks += 1;
        const at = now + Math.ceil(others.pauseMs() / stepMs) * stepMs;
        back.set(at, (back.get(at) ?? 0) + 1);
      }
      back.delete(now);
      pass(stepMs);
    }
    expect((looks * 1_000) / (measuredTo - measuredFrom)).toBeLessThan(205);
  });

  it('are forgotten when they do not come back', () => {
    const { others, pass } = setUp();
    for (let at = 0; at < 100; at += 1) others.pauseMs();
    expect(others.pauseMs()).toBe(505);
    pass(505);
    expect(others.pauseMs()).toBe(100);
  });
});
