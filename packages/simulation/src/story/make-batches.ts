import { models, tenants } from '../service/names.ts';
import type { Random } from '../world/random.ts';
import type { BatchPlan, CallEnd, CallPlan, FaultPlan, PromptPlan } from './scenario.ts';

/** How long a good line takes, in milliseconds. */
const lineMs = [5, 60, 400] as const;

/** How long behind its beginning a fault may befall a batch, in milliseconds. */
const befallsWithinMs = 6_000;

/** In some of the seeds tenants have files whose lines are run, beside those who wait for a response. Faults befall those, too. */
export function makeBatches(
  random: Random,
  makeFault: (random: Random, momentMs: number) => FaultPlan,
): { batches: BatchPlan[] | undefined; faults: FaultPlan[] } {
  if (!random.happens(0.12)) return { batches: undefined, faults: [] };
  const count = random.pick([1, 1, 2, 3]);
  const batches = Array.from({ length: count }, (_, at) => makeBatch(random.fork(`batch ${at}`), `b${at}`));
  const faults = batches.flatMap(({ atMs }, at) => {
    const own = random.fork(`faults ${at}`);
    return Array.from({ length: own.between(0, 2) }, () => {
      const momentMs = atMs + own.fraction() * befallsWithinMs;
      if (!own.happens(0.15)) return makeFault(own, momentMs);
      return { kind: 'full disk' as const, atMs: momentMs, forMs: own.skewed(1_000) };
    });
  });
  return { batches, faults };
}

function makeBatch(random: Random, name: string): BatchPlan {
  const tenant = random.pick([tenants.free, tenants.other, tenants.limited]);
  const lines = Array.from({ length: random.pick([1, 3, 8, 20, 60]) }, (_, at) =>
    makeLine(random.fork(`line ${at}`), `${name}x${at}`, tenant),
  );
  return {
    name,
    atMs: random.fraction() * random.pick([10, 1_000]),
    tenant,
    lines,
    ...(random.happens(0.2) && { cancelAfterMs: random.skewed(random.pick([20, 1_000, 3_000])) }),
  };
}

function makeLine(random: Random, name: string, tenant: BatchPlan['tenant']): PromptPlan {
  const good: CallPlan = {
    firstMs: random.skewed(random.pick(lineMs)),
    betweenMs: random.skewed(2),
    tokens: random.between(1, 6),
    end: 'finish',
  };
  const end = random.pick<CallEnd>(['cut', 'refused', 'limited', 'broken', 'fatal', 'crash']);
  const isBad = random.happens(0.08);
  const tokens = end === 'refused' || end === 'limited' ? 0 : good.tokens;
  return {
    name,
    tenant,
    model: random.happens(0.15) ? models.narrow : models.wide,
    calls: isBad ? [{ ...good, tokens, end }, good] : [good],
  };
}
