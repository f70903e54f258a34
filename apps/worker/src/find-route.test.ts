import { describe, expect, it } from 'vitest';
import type { Attempt } from './attempt.ts';
import { findRoute, type FindRouteDependencies } from './find-route.ts';
import type { ModelRoute, RouteBlock } from './model-routes.ts';
import type { RoutePressure } from './pressure/route-pressure.ts';
import type { WaitingResponse } from './route-health.ts';

const route = { provider: { id: 'up' }, model: 'm' } as ModelRoute; // nobody calls it

/** The choice of a response that finds its only route so. */
function found(
  block: RouteBlock,
  { hasRoom = true, servesOthers = true, isInLine = false }: Partial<Record<string, boolean>> = {},
) {
  const health = {
    blockOf: () => block,
    mayWaitFor: () => hasRoom,
    at: () => ({ servesOthers: () => servesOthers }),
  };
  const dependencies = { health, serverLoads: { of: () => 0 }, now: () => 0, random: () => 0 };
  const attempt = { tried: new Map(), mayRetry: true, calls: {}, routes: [route] };
  const waiter = { lines: new Set(isInLine ? [{} as RoutePressure] : []) };
  return findRoute(
    dependencies as unknown as FindRouteDependencies, // all that it asks
    { ...attempt, remainingMs: 60_000, patienceMs: 60_000 } as unknown as Attempt, // all that it looks at
    waiter as WaitingResponse,
  ).kind;
}

describe('a response whose route takes none of its calls', () => {
  const busy: RouteBlock = { because: 'busy', waitMs: 3_000, isLineFull: false };

  it('waits in line while that is not full', () => {
    expect(found(busy)).toBe('wait');
    expect(found({ ...busy, isLineFull: true })).toBe('blocked');
  });

  it('leaves half of the slots to the calls of others, unless it stands in line or there are none', () => {
    expect(found(busy, { hasRoom: false })).toBe('blocked');
    expect(found(busy, { hasRoom: false, isInLine: true })).toBe('wait');
    expect(found(busy, { hasRoom: false, servesOthers: false })).toBe('wait');
  });

  it('leaves them also if it has to wait for long, and not if it is soon served', () => {
    expect(found({ because: 'parked', waitMs: 2_000 }, { hasRoom: false })).toBe('blocked');
    expect(found({ because: 'parked', waitMs: 2_000 })).toBe('wait');
    expect(found({ because: 'parked', waitMs: 50 }, { hasRoom: false })).toBe('wait');
  });
});
