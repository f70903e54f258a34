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
      for (let few = 0; few < 20; few += 1) expect(others.pauseMs(`r${few}`)).toBe(100);
      pass(100);
    }
  });

  it.each([
    ['earliest', 0, 50],
    ['latest', 0.999, 149.9],
  ])('are offered again at random, at the %s', (_, random, pauseMs) => {
    expect(setUp(random).others.pauseMs('r')).toBeCloseTo(pauseMs);
  });

  it('are left alone for longer the more there are, up to some minutes', () => {
    const { others } = setUp();
    const pauses = Array.from({ length: 500 }, (_, at) => others.pauseMs(`r${at}`));
    expect([pauses[0], pauses[19], pauses[20], pauses[399]]).toEqual([100, 100, 105, 2_000]);
    for (let at = 0; at < 70_000; at += 1) others.pauseMs(`many ${at}`);
    const again = Array.from({ length: 10 }, () => others.pauseMs('r0'));
    expect(again.slice(0, 3)).toEqual([10_000, 20_000, 40_000]);
    expect(again.slice(-2)).toEqual([300_000, 300_000]);
  });

  it('are soon offered again when they have just come, however many wait', () => {
    const { others } = setUp();
    for (let at = 0; at < 70_000; at += 1) others.pauseMs(`many ${at}`);
    expect([others.pauseMs('fresh'), others.pauseMs('fresh')]).toEqual([5_000, 10_000]);
  });

  it.each([1_000, 10_000, 50_000])('are looked at no more than 200 times a second when %d wait', (count) => {
    const { others, pass } = setUp();
    const stepMs = 100;
    /** How many come back at each step. */
    const back = new Map([[0, Array.from({ length: count }, (_, id) => String(id))]]);
    let looks = 0;
    // By then each has been looked at so often that it waits for its time.
    const measuredFrom = 1_200_000;
    const measuredTo = 1_500_000;
    for (let now = 0; now < measuredTo; now += stepMs) {
      for (const id of back.get(now) ?? []) {
        if (now >= measuredFrom) looks += 1;
        const at = now + Math.ceil(others.pauseMs(id) / stepMs) * stepMs;
        const due = back.get(at);
        if (due) due.push(id);
        else back.set(at, [id]);
      }
      back.delete(now);
      pass(stepMs);
    }
    expect((looks * 1_000) / (measuredTo - measuredFrom)).toBeLessThan(205);
  });

  it('are forgotten when they do not come back', () => {
    const { others, pass } = setUp();
    for (let at = 0; at < 100; at += 1) others.pauseMs(`gone ${at}`);
    expect(others.pauseMs('r')).toBe(505);
    pass(505);
    expect(others.pauseMs('r')).toBe(100);
  });
});
