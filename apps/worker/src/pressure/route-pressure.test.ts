import { describe, expect, it } from 'vitest';
import { RoutePressure, type Waiter } from './route-pressure.ts';

function setUp({
  most = 8,
  floor = 1,
  isAdaptive = true,
  latencyTolerance = undefined as number | undefined,
} = {}) {
  let at = 0;
  const route = new RoutePressure({
    ...{ most, floor, isAdaptive, latencyTolerance },
    now: () => at,
    random: () => 0,
  });
  let order = 0;
  const woken: number[] = [];
  const waiter = (): Waiter => {
    order += 1;
    const own = order;
    return { order: own, lines: new Set(), wake: () => woken.push(own) };
  };
  const begin = (count: number) => Array.from({ length: count }, () => route.begin());
  return {
    ...{ route, waiter, woken, begin },
    pass: (ms: number) => {
      at += ms;
    },
  };
}

describe('the calls of a route', () => {
  it('are as many as there are slots, as long as none is refused', () => {
    const { route, begin } = setUp({ most: 8 });
    begin(7);
    expect(route.blockFor(undefined)).toBeUndefined();
    begin(1);
    expect(route.blockFor(undefined)).toMatchObject({ isLineFull: false });
  });

  it('are counted until they are over, once, however they end', () => {
    const { route, begin } = setUp();
    const [one, other, third, fourth] = begin(4);
    one?.succeeded();
    one?.ended();
    one?.refused(undefined);
    other?.refused(undefined);
    other?.succeeded();
    third?.refused(1_000);
    fourth?.ended();
    fourth?.ended();
    expect(route.status.inFlight).toBe(0);
  });

  it('are fewer after an overload, which says nothing of a rate', () => {
    const { route, begin } = setUp({ most: 20 });
    const [first, ...others] = begin(20);
    first?.refused(undefined);
    expect(route.status).toMatchObject({ limit: 17, callsPerSecond: Number.POSITIVE_INFINITY });
    for (const call of others) call.succeeded();
    expect(route.status.inFlight).toBe(0);
  });

  it('have a pace after a 429, and keep their number', () => {
    const { route, begin, pass } = setUp();
    for (const [at, call] of begin(8).entries()) {
      if (at < 5) call.succeeded();
      else call.refused(1_000);
    }
    expect(route.status.limit).toBe(8);
    pass(1_000);
    // Five were taken, so the search begins where it does at least.
    expect(route.status.callsPerSecond).toBe(10);
    begin(1);
    expect(route.blockFor(undefined)).toMatchObject({ isLineFull: false, waitMs: 100 });
  });

  it('are not changed by refusals when that is switched off', () => {
    const { route, begin, pass } = setUp({ isAdaptive: false });
    for (const call of begin(8)) call.refused(1_000);
    pass(1_000);
    expect(route.status).toMatchObject({ limit: 8, callsPerSecond: Number.POSITIVE_INFINITY });
  });

  it('keep their number at a healthy upstream whose latency is noisy', () => {
    const { route, begin, pass } = setUp({ most: 16, latencyTolerance: 2 });
    for (let round = 0; round < 500; round += 1) {
      const calls = begin(16);
      for (const [at, call] of calls.entries()) {
        // From 10 ms to some seconds; every other prompt is long, and takes ten times as long.
        pass(10 + ((round * 7 + at * 13) % 40) ** 2 / 10);
        if (at % 2 === 1) pass(500);
        call.answered('team', () => (at % 2 === 1 ? 50_000 : 100));
      }
      for (const call of calls) call.succeeded();
      expect(route.status.limit).toBe(16);
    }
  });

  it('are fewer when the first token takes many times as long, if that is wanted', () => {
    const answered = (latencyTolerance: number | undefined) => {
      const { route, pass } = setUp({ most: 2, latencyTolerance });
      for (let at = 0; at < 400; at += 1) {
        const calls = [route.begin(), ...(route.blockFor(undefined) ? [] : [route.begin()])];
        pass(at < 200 ? 50 : 5_000);
        for (const call of calls) {
          call.answered('team', () => 100);
          call.ended();
        }
      }
      return route.status.limit;
    };
    expect(answered(2)).toBe(1);
    expect(answered(undefined)).toBe(2);
  });
});

describe('the line of a route', () => {
  it('is served in the order in which responses came, also one that comes back', () => {
    const { route, waiter, woken, begin } = setUp({ most: 1 });
    const [call] = begin(1);
    const [first, second, third] = [waiter(), waiter(), waiter()];
    route.join(second);
    route.join(third);
    route.join(first);
    call?.ended();
    expect(woken).toEqual([first.order]);
    expect(route.blockFor(second)).toBeDefined();
    expect(route.blockFor(undefined)).toBeDefined();
    expect(route.blockFor(first)).toBeUndefined();
  });

  it('goes on when the one whose turn it is leaves', () => {
    const { route, waiter, woken, begin } = setUp({ most: 1 });
    const [call] = begin(1);
    const [first, second] = [waiter(), waiter()];
    route.join(first);
    route.join(second);
    call?.ended();
    route.leave(first);
    expect(woken.at(-1)).toBe(second.order);
    expect(route.blockFor(second)).toBeUndefined();
    route.leave(second);
    route.leave(second);
    expect(route.status.waiting).toBe(0);
  });

  it('is full when as many wait as run, and sends others away for a while', () => {
    const { route, waiter, begin } = setUp({ most: 3 });
    begin(3);
    const inLine = [waiter(), waiter(), waiter()];
    for (const each of inLine) {
      expect(route.blockFor(waiter())).toMatchObject({ isLineFull: false });
      route.join(each);
    }
    const block = route.blockFor(waiter());
    expect(block).toMatchObject({ isLineFull: true });
    expect(block?.waitMs).toBeGreaterThanOrEqual(500);
    // A waiter that is in the line already stays.
    expect(route.blockFor(inLine[2])).toMatchObject({ isLineFull: false });
    for (const each of inLine) route.leave(each);
  });
});
