import { ProviderError } from '@sluice/providers';
import { describe, expect, it } from 'vitest';
import { healthOf, idleProvider } from '../test/idle-upstreams.ts';
import { sendAway } from './find-route.ts';
import type { ModelRoute } from './model-routes.ts';
import { OwnLimits } from './own-limits.ts';

const stepMs = 5;
const route: ModelRoute = { provider: idleProvider(), model: 'm' };

/** An upstream that takes so many calls in a second, and saves up as many. */
function upstreamOf(perSecond: number) {
  let saved = perSecond;
  let savedAt = 0;
  return (at: number): boolean => {
    saved = Math.min(perSecond, saved + ((at - savedAt) * perSecond) / 1000);
    savedAt = at;
    if (saved < 1) return false;
    saved -= 1;
    return true;
  };
}

/** A backlog of one tenant whose calls an upstream limits, while half of the slots are for others. */
function limitedBacklog(count: number, perSecond: number) {
  let at = 0;
  const health = healthOf({ routes: [route], now: () => at });
  const { pressure } = health.at(route);
  const takes = upstreamOf(perSecond);
  const waiterOf = (responseId: number) =>
    health.waiter({ tenant: 'flood', responseId: `${responseId}`, limits: new OwnLimits() });
  /** When each comes back into a slot, in milliseconds. */
  const away = new Map(Array.from({ length: count }, (_, id) => [id, 0]));
  const line = new Map<number, ReturnType<typeof waiterOf>>();
  const figures = { claimed: 0, unused: 0 };
  /** Calls for a response, unless something is in its way. */
  const call = (id: number, waiter: ReturnType<typeof waiterOf>) => {
    const begun = health.blockOf(route, waiter) ? undefined : health.begin(route, waiter);
    if (!begun) return false;
    health.leave(waiter);
    line.delete(id);
    if (takes(at)) {
      begun.succeeded();
      return true;
    }
    const retry = { disposition: 'retry', fault: 'limited', retryAfterMs: 1_000 } as const;
    begun.failed(new ProviderError('upstream_error', 'no', retry));
    away.set(id, at + 1_000);
    return true;
  };
  const claim = (id: number) => {
    figures.claimed += 1;
    const waiter = waiterOf(id);
    if (call(id, waiter)) return;
    const block = health.blockOf(route, waiter);
    if (block?.because === 'busy' && !block.isLineFull && health.mayWaitFor(route)) {
      pressure.join(waiter);
      line.set(id, waiter);
      return;
    }
    away.set(id, at + (sendAway(health, [route], waiter, 600_000) ?? block?.waitMs ?? 0));
  };
  return {
    /** Lets seconds pass, and returns how often a response was claimed in each, and the share of the time in which a turn was free. */
    pass: (seconds: number) => {
      const before = { ...figures };
      for (const until = at + seconds * 1_000; at < until; at += stepMs) {
        for (const [id, waiter] of line) call(id, waiter);
        for (const [id, due] of away) {
          if (due > at) continue;
          away.delete(id);
          claim(id);
        }
        if (!health.blockOf(route, waiterOf(count))) figures.unused += stepMs;
      }
      for (const waiter of line.values()) health.leave(waiter);
      return {
        claimedPerSecond: (figures.claimed - before.claimed) / seconds,
        unused: (figures.unused - before.unused) / seconds / 1_000,
      };
    },
  };
}

describe('a backlog of one tenant that its upstream limits', () => {
  it('comes back about as it can be served, and not all of it again and again', () => {
    const backlog = limitedBacklog(3_000, 20);
    backlog.pass(30);
    const { claimedPerSecond, unused } = backlog.pass(60);
    expect(claimedPerSecond).toBeLessThan(100);
    expect(unused).toBeLessThan(0.1);
  });
});
