import { describe, expect, it } from 'vitest';
import { idleProvider } from '../test/idle-upstreams.ts';
import { blockedMs, chooseRoute, type ModelRoute, type RouteBlock, untried } from './model-routes.ts';

const routes: ModelRoute[] = ['a', 'b', 'c'].map((id) => ({ provider: idleProvider(id), model: 'm' }));

const free = undefined;
const parked = (waitMs: number): RouteBlock => ({ because: 'parked', waitMs });
const busy = (waitMs: number, isLineFull = false): RouteBlock => ({ because: 'busy', waitMs, isLineFull });
const saturated = (waitMs: number): RouteBlock => ({ because: 'saturated', waitMs });
const open = (waitMs: number, downMs = 0): RouteBlock => ({ because: 'open', waitMs, downMs });

type Blocks = readonly (RouteBlock | undefined)[];

const choose = (states: Blocks, failures: readonly number[] = []) => {
  const tried = new Map(routes.flatMap((route, at) => (failures[at] ? [[route, failures[at]]] : [])));
  return chooseRoute(routes, tried, (route) => states[routes.indexOf(route)]);
};

describe('the route of a call', () => {
  it.each([
    ['is the first of the file', [free, free, free], [], 'a'],
    ['passes over one that is open', [open(9), free, free], [], 'b'],
    ['passes over one that is parked', [free, parked(9), free], [1], 'c'],
    ['passes over all that take no calls', [open(9), parked(9), free], [], 'c'],
    ['is one that has not failed for the response', [free, free, free], [1], 'b'],
    ['is the third, when two have failed for it', [free, free, free], [1, 1], 'c'],
    ['is the first again, when all have failed as often', [free, free, free], [1, 1, 1], 'a'],
    ['is the one that failed least often', [free, free, free], [2, 2, 1], 'c'],
    ['is one that failed, when the others take no calls', [free, open(9), parked(9)], [1], 'a'],
  ] as const)('%s', (_, states, failures, id) => {
    expect(choose(states, failures)).toMatchObject({ kind: 'route', route: { provider: { id } } });
  });

  it.each([
    ['open until the first is not', [open(9, 300), open(4, 500), open(7, 400)], open(4, 300)],
    ['parked until the first is not', [parked(9), parked(4), parked(7)], parked(4)],
    ['parked when one is', [open(9), parked(6), open(7)], parked(6)],
    ['busy when there is a line to wait in', [parked(6), busy(9), saturated(7)], busy(6)],
    ['busy with room in one line', [busy(6, true), busy(9), open(7)], busy(6)],
    ['saturated when the others are down', [open(6), saturated(9), open(7)], saturated(6)],
    ['parked, and worth a look earlier', [parked(9), open(4), open(7)], parked(4)],
  ] as const)('is none when all take no calls: %s', (_, states, expected) => {
    expect(choose(states)).toEqual({ kind: 'blocked', block: expected });
  });

  it('is none where there are no routes', () => {
    expect(chooseRoute([], new Map(), () => free)).toEqual({ kind: 'none' });
  });

  it('keeps its queue waiting for as long as no route takes calls', () => {
    const states: Blocks = [open(9), parked(4), parked(7)];
    const blockOf = (route: ModelRoute) => states[routes.indexOf(route)];
    expect(blockedMs(routes, blockOf)).toBe(4);
    expect(blockedMs(routes, () => free)).toBe(0);
    expect(blockedMs([], blockOf)).toBe(0);
    expect(blockedMs(routes, () => saturated(5))).toBe(5);
    // A newcomer may wait in line, unless it is full.
    expect(blockedMs(routes, () => busy(5))).toBe(0);
    expect(blockedMs(routes, () => busy(5, true))).toBe(5);
  });

  it('is new to the response while it has not failed for it', () => {
    const [first] = routes;
    if (!first) throw new Error('there are routes');
    expect(untried(routes, new Map([[first, 1]])).map((route) => route.provider.id)).toEqual(['b', 'c']);
  });
});
