import { parseWeight } from '@sluice/admission';
import { money } from '@sluice/contract';
import type { TenantUseNow } from '@sluice/contract/admin';
import { budgetNames, type GivenLimits } from '@sluice/contract/tenant-limits';
import type { StoreAccess } from '../record/store-access.ts';

/** A tenant, and which of its limits there are: only what is limited is counted. */
export interface LimitedTenant {
  name: string;
  limits: Readonly<GivenLimits>;
}

/** Most tenants read at once. Each takes up to six short commands, and one more for each of its lines. */
const pageSize = 100;

/**
 * Reads what tenants use now, in their order. It changes nothing and reads a page at a time, so other clients of the store
 * wait for one page at most, however many tenants there are. The numbers of a tenant are read one after the other: those of
 * a busy tenant may differ by what happened in between.
 */
export async function readTenantUse(
  access: StoreAccess,
  tenants: readonly LimitedTenant[],
): Promise<TenantUseNow[]> {
  const uses: TenantUseNow[] = [];
  for (let at = 0; at < tenants.length; at += pageSize) {
    const page = tenants.slice(at, at + pageSize);
    const [time, counters] = await Promise.all([
      access.redis.time(),
      Promise.all(page.map((tenant) => readCounters(access, tenant))),
    ]);
    const second = Number(time[0]);
    const inLines = await Promise.all(
      page.map(({ name }, each) => countInLines(access, name, counters[each]?.queues)),
    );
    const stored = await Promise.all(
      page.map(({ name }, each) => storedBytes(access, name, { held: counters[each]?.held, second })),
    );
    for (const [each, { requests, tokens, budget, weight, running }] of counters.entries()) {
      const waiting = parseWeight(weight);
      uses.push({
        requests_in_minute: requests === undefined ? null : usedInMinute(requests, second),
        tokens_in_minute: tokens === undefined ? null : usedInMinute(tokens, second),
        ...usedOfBudgets(budget ?? {}, page[each]?.limits ?? {}, second),
        waiting: waiting.responses,
        waiting_bytes: waiting.bytes,
        stored_bytes: stored[each] ?? 0,
        running: running ?? null,
        in_line: inLines[each] ?? null,
      });
    }
  }
  return uses;
}

/**
 * Adds up a window of rate-window.lua: sixty buckets of a second each, at the second modulo 60, and `last`, the second of
 * the newest. The sum of the window is not read, because it is right only when the window was moved to the present.
 *
 * `second` is that of the store's clock. Counts of a clock that was ahead before stay in the window, as admission has it.
 */
export function usedInMinute(window: Readonly<Record<string, string>>, second: number): number {
  const last = Number(window['last']);
  if (window['last'] === undefined || Number.isNaN(last)) return 0;
  const present = Math.max(second, last);
  let used = 0;
  for (let past = present - 59; past <= last; past += 1) used += Number(window[past % 60] ?? 0);
  return used;
}

type BudgetUse = Pick<TenantUseNow, 'tokens_in_day' | 'tokens_in_month' | 'spend_in_day' | 'spend_in_month'>;

/** The use of budgets, of a hash as budgets.lua keeps it, which may be of a day or a month that is over. */
export function usedOfBudgets(
  counts: Readonly<Record<string, string>>,
  limits: Readonly<GivenLimits>,
  second: number,
): BudgetUse {
  const now = new Date(second * 1_000);
  const month = now.getUTCFullYear() * 12 + now.getUTCMonth();
  const isCurrent = {
    day: Number(counts['day']) >= Math.floor(second / 86_400),
    month: Number(counts['month']) >= month,
  };
  const used = (name: keyof BudgetUse, period: 'day' | 'month', limit: number | undefined) =>
    limit === undefined ? null : isCurrent[period] ? Number(counts[name] ?? 0) : 0;
  const spent = (stored: number | null) => (stored === null ? null : money.fromStored(stored));
  return {
    tokens_in_day: used('tokens_in_day', 'day', limits.tokensPerDay),
    tokens_in_month: used('tokens_in_month', 'month', limits.tokensPerMonth),
    spend_in_day: spent(used('spend_in_day', 'day', limits.spendPerDay)),
    spend_in_month: spent(used('spend_in_month', 'month', limits.spendPerMonth)),
  };
}

interface Counters {
  requests: Record<string, string> | undefined;
  tokens: Record<string, string> | undefined;
  budget: Record<string, string> | undefined;
  weight: string | null | undefined;
  running: number | undefined;
  /** The bytes that the tenant holds in the store, and the second until which that is right. */
  held: (string | null)[];
  /** Queues in which the tenant has a line. */
  queues: string[] | undefined;
}

async function readCounters(
  { redis, keys }: StoreAccess,
  { name, limits }: LimitedTenant,
): Promise<Counters> {
  const cell = keys.inCell(keys.home(name));
  const isCounted = limits.concurrent !== undefined;
  const hasBudget = budgetNames.some((budget) => limits[budget] !== undefined);
  const [requests, tokens, budget, [weight], held, running, places] = await Promise.all([
    limits.requestsPerMinute === undefined ? undefined : redis.hgetall(cell.requestRate(name)),
    limits.tokensPerMinute === undefined ? undefined : redis.hgetall(cell.tokenRate(name)),
    hasBudget ? redis.hgetall(cell.budget('tenant', name)) : undefined,
    redis.hmget(cell.load, `tenant:${name}`),
    redis.hmget(cell.held(name), 'sum', 'next'),
    isCounted ? redis.scard(cell.running(name)) : undefined,
    isCounted ? redis.hkeys(cell.places(name)) : undefined,
  ]);
  const queues = places
    ?.filter((field) => field.startsWith('line:'))
    .map((field) => field.slice('line:'.length));
  return { requests, tokens, budget, weight, held, running, queues };
}

/** The bytes that a tenant holds by `second`: its sum, or the amounts that are left once some of it is over. */
async function storedBytes(
  { redis, keys }: StoreAccess,
  tenant: string,
  { held, second }: { held: readonly (string | null)[] | undefined; second: number },
): Promise<number> {
  const [sum, next] = held ?? [];
  if (!next) return 0;
  if (second < Number(next)) return Number(sum);
  const amounts = await redis.hgetall(keys.inCell(keys.home(tenant)).held(tenant));
  return bytesLeft(amounts, second);
}

/** The bytes that are not gone by a second, of a hash as held-bytes.lua keeps it. */
export function bytesLeft(amounts: Readonly<Record<string, string>>, second: number): number {
  let left = 0;
  for (const [field, amount] of Object.entries(amounts)) {
    const goneBy = /^u?(\d+)$/.exec(field)?.[1];
    if (goneBy !== undefined && Number(goneBy) > second) left += Number(amount);
  }
  return left;
}

/** How many wait for a place: their scores are positive, and negative once they are let into their queues. */
async function countInLines(
  { redis, keys }: StoreAccess,
  tenant: string,
  queues: readonly string[] | undefined,
): Promise<number | undefined> {
  if (queues === undefined) return undefined;
  const cell = keys.inCell(keys.home(tenant));
  const counts = await Promise.all(
    queues.map((queue) => redis.zcount(cell.line(tenant, queue), '(0', '+inf')),
  );
  return counts.reduce((all, count) => all + count, 0);
}
