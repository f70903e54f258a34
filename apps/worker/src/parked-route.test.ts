import { describe, expect, it } from 'vitest';
import { ParkedRoute } from './parked-route.ts';

function aRoute() {
  let at = 1_000;
  const route = new ParkedRoute({ longestMs: 60_000, now: () => at });
  return {
    route,
    now: () => at,
    pass: (ms: number) => {
      at += ms;
    },
  };
}

describe('a route that is limited', () => {
  it('is parked for what the upstream asked for', () => {
    const { route, now, pass } = aRoute();
    expect(route.waitMs).toBe(0);
    route.limited(now(), 7_000);
    expect(route.waitMs).toBe(7_000);
    pass(6_999);
    expect(route.waitMs).toBe(1);
    pass(1);
    expect(route.waitMs).toBe(0);
  });

  it('is parked up to a cap, whatever the upstream asked for', () => {
    const { route, now } = aRoute();
    route.limited(now(), 3_600_000);
    expect(route.waitMs).toBe(60_000);
  });

  it.each([undefined, 0])('is parked for longer each time when it asks for %s, until it answers', (asked) => {
    const { route, now, pass } = aRoute();
    const waits = [1, 2, 3, 4, 5, 6, 7, 8].map(() => {
      pass(route.waitMs);
      route.limited(now(), asked);
      return route.waitMs;
    });
    expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    // It began before the last two parks, so the upstream may have taken none since.
    route.answered(now() - 20_001);
    pass(route.waitMs);
    route.limited(now(), asked);
    expect(route.waitMs).toBe(10_000);
    pass(route.waitMs);
    route.answered(now());
    route.limited(now(), asked);
    expect(route.waitMs).toBe(250);
  });

  it('is limited for the first time again when some of the calls that began together are answered', () => {
    const { route, now, pass } = aRoute();
    for (const waitMs of [250, 250, 250]) {
      const calledAt = now();
      route.limited(calledAt, undefined);
      expect(route.waitMs).toBe(waitMs);
      route.answered(calledAt);
      pass(waitMs);
    }
  });

  it('counts calls once that were under way together, and is never parked for less by one of them', () => {
    const { route, now, pass } = aRoute();
    const calledAt = now();
    route.limited(calledAt, 5_000);
    pass(100);
    for (let call = 0; call < 30; call += 1) route.limited(calledAt, 100);
    expect(route.waitMs).toBe(4_900);
    pass(4_900);
    route.limited(now(), undefined);
    expect(route.waitMs).toBe(500);
  });
});
