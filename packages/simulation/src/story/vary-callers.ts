import { models, tenants } from '../service/names.ts';
import type { Random } from '../world/random.ts';
import type { CallerPlan, CallPlan } from './scenario.ts';

/** The longest that a good call takes until its first token, and from there to its last, in milliseconds: with a long outage, less than it may take. */
export const longestMs = 4_000;

/** Tokens of a long answer. */
export const longTokens = 24;

/** In some of the stories most good answers are too long for a record: their ends go in pieces, and are read in pieces. */
export function withLongEnds(random: Random, callers: readonly CallerPlan[]): readonly CallerPlan[] {
  if (!random.happens(0.12)) return callers;
  return callers.map((caller) => {
    const isLong = random.happens(0.7);
    const [first, ...others] = caller.calls.map((call): CallPlan => {
      if (!isLong || call.end !== 'finish') return call;
      const betweenMs = Math.min(call.betweenMs, longestMs / longTokens);
      return { ...call, betweenMs, tokens: longTokens, tokenLength: 20_000 };
    });
    return first ? { ...caller, calls: [first, ...others] } : caller;
  });
}

/** In some of the stories callers continue the response of one before them, in chains of a few turns. */
export function withChains(random: Random, callers: readonly CallerPlan[]): readonly CallerPlan[] {
  if (!random.happens(0.2)) return callers;
  const chained: CallerPlan[] = [];
  for (const caller of callers) {
    const followed = random.happens(0.6) ? chained[random.between(0, chained.length - 1)] : undefined;
    chained.push(followed ? { ...caller, follows: followed.name, tenant: followed.tenant } : caller);
  }
  return chained;
}

/** In some of the crowds an upstream limits the first call of a tenant that has most of them: all of it goes away, and comes back behind newcomers of others. */
export function withPark(random: Random, callers: readonly CallerPlan[]): readonly CallerPlan[] {
  if (!random.happens(0.1)) return callers;
  return callers.map((caller, at) => {
    const [first, ...others] = caller.calls;
    const calls: CallerPlan['calls'] =
      at === 0 ? [{ ...first, firstMs: 1, tokens: 0, end: 'limited' }, first, ...others] : caller.calls;
    const isOfMost = at === 0 || random.happens(0.8);
    const atMs =
      at === 0 ? 0 : isOfMost ? 5 + random.fraction() * 200 : caller.atMs + random.fraction() * 1_500;
    return { ...caller, atMs, calls, ...(isOfMost && { tenant: tenants.free, model: models.wide }) };
  });
}
