import { crowdModel, crowdTenants, models, mostInMinute, type TenantName } from '../service/names.ts';
import { Random } from '../world/random.ts';
import type { CallerPlan, Scenario } from './scenario.ts';
import type { SimulatedCaller } from './simulated-caller.ts';
import type { UpstreamCall } from './upstream.ts';

/** Crowds that come to see a promise about numbers, in three cells: nothing goes wrong, and what is told is how much each tenant has had. */
export const crowds = { shares: makeShares, minutes: makeMinutes };
export type CrowdName = keyof typeof crowds;

const common = { keepsRecords: false, cells: 3, hasCrowd: true, faults: [] };

/** How long a call of the shared model takes, in milliseconds. */
const callMs = 600;

/** So much is accepted before the shares are looked at, in milliseconds: they follow what waits. */
const settledMs = 5_000;

/** A tenant of the weight 3 in one cell, and one of the weight 1 in three, each with more than the shared model can take. */
function makeShares(seed: number): Scenario {
  const random = new Random(seed).fork('shares');
  const of = (tenant: TenantName, count: number): Asking[] =>
    Array.from({ length: count }, () => ({
      tenant,
      model: crowdModel,
      atMs: random.fraction() * 1_000,
      callMs,
    }));
  return {
    ...common,
    seed,
    apis: 2,
    workers: 2,
    callers: plansOf([...of(crowdTenants.heavy, 200), ...of(crowdTenants.spread, 200)]),
  };
}

/** Five times as many responses of a tenant as its limit of a minute allows, for three minutes, at four apis. */
function makeMinutes(seed: number): Scenario {
  const random = new Random(seed).fork('minutes');
  const callers = Array.from({ length: 3 * 5 * mostInMinute }, () => ({
    tenant: crowdTenants.hurried,
    model: models.wide,
    atMs: random.fraction() * 180_000,
    callMs: 1,
  }));
  return { ...common, seed, apis: 4, workers: 1, callers: plansOf(callers) };
}

type Asking = Pick<CallerPlan, 'tenant' | 'model' | 'atMs'> & { callMs: number };

function plansOf(asking: readonly Asking[]): CallerPlan[] {
  return asking.map(({ callMs: firstMs, ...plan }, at) => ({
    ...plan,
    name: `c${at}`,
    mode: 'background',
    idempotencyKey: undefined,
    calls: [{ firstMs, betweenMs: 0, tokens: 1, end: 'finish' }],
    acts: [],
  }));
}

/** The part of the calls that were of the heavy tenant, from when shares have settled until one of the two has no more. */
export function heavyPart(calls: readonly UpstreamCall[]): number {
  const [first] = calls;
  const lastOf = (tenant: string) => calls.findLast((call) => call.tenant === tenant)?.fromMs ?? 0;
  const fromMs = (first?.fromMs ?? 0) + settledMs;
  const toMs = Math.min(lastOf(crowdTenants.heavy), lastOf(crowdTenants.spread));
  const counted = calls.filter((call) => call.fromMs >= fromMs && call.fromMs < toMs);
  return counted.filter(({ tenant }) => tenant === crowdTenants.heavy).length / counted.length;
}

/** The most responses that were accepted in any 59 seconds, in which the window of an accept always is, and how many in all. */
export function acceptedInMinutes(callers: readonly SimulatedCaller[]): { most: number; inAll: number } {
  const times = callers.flatMap(({ acceptedMs }) => acceptedMs ?? []).toSorted((one, other) => one - other);
  const most = Math.max(
    ...times.map((from, at) => times.slice(at).filter((time) => time < from + 59_000).length),
  );
  return { most, inAll: times.length };
}
