import {
  bucketWidths,
  type CostGroup,
  type CostPage,
  type CostQueryParams,
  type CostResult,
  money,
  type UsageGroup,
  type UsagePage,
  type UsageQueryParams,
  type UsageResult,
} from '@sluice/contract';
import type { Dimension, UsageQuery, UsageSum } from './usage-database.ts';

const hour = 3_600;

/** The dimension of each group. */
const dimensionOf: Record<UsageGroup, Dimension> = {
  project_id: 'tenant',
  api_key_id: 'key',
  model: 'model',
  batch: 'tier',
  service_tier: 'tier',
  label: 'label',
};

/** A page of buckets, as a request asks for it. Times are in seconds since 1970. */
export interface AskedPage {
  query: UsageQuery;
  groups: readonly UsageGroup[];
  /** Where its buckets begin. */
  starts: readonly number[];
  widthSeconds: number;
  /** Undefined when it is the last page. */
  next: number | undefined;
}

/**
 * The query for a database. `tenant` is the only one whose usage is shown; all are, where there is none.
 *
 * A bucket begins at a multiple of its width and has all that ended within it, also what ended before the first second that was asked for.
 */
export function askedPage(
  params: UsageQueryParams,
  { now, tenant }: { now: number; tenant?: string | undefined },
): AskedPage {
  const { start_time, end_time = Math.floor(now), bucket_width, group_by = [], page } = params;
  const { seconds, usual } = bucketWidths[bucket_width];
  const limit = params.limit ?? usual;
  const from = page === undefined ? start_time : Math.max(start_time, Number(page.slice('page_'.length)));
  const first = Math.floor(from / seconds);
  const end = Math.max(first, Math.ceil(end_time / seconds));
  const until = Math.min(end, first + limit);
  const starts = Array.from({ length: until - first }, (_, at) => (first + at) * seconds);
  const { project_ids: projects, api_key_ids: key, models: model } = params;
  return {
    query: {
      from: (first * seconds) / hour,
      until: (until * seconds) / hour,
      hoursEach: seconds / hour,
      groupBy: [...new Set(group_by.map((group) => dimensionOf[group]))],
      where: {
        ...(tenant === undefined
          ? projects && { tenant: projects }
          : { tenant: projects && !projects.includes(tenant) ? [] : [tenant] }),
        ...(key && { key }),
        ...(model && { model }),
      },
      isBatch: params.batch,
    },
    groups: group_by,
    starts,
    widthSeconds: seconds,
    next: until < end ? until * seconds : undefined,
  };
}

/** The same page, which ends where the answer of the database does: the next one has the rest. */
export function pageUntil(asked: AskedPage, until: number): AskedPage {
  if (until >= asked.query.until) return asked;
  const end = until * hour;
  return { ...asked, starts: asked.starts.filter((start) => start < end), next: end };
}

/** The groups of usage that those of costs are. */
const groupOf: Record<CostGroup, UsageGroup> = {
  project_id: 'project_id',
  line_item: 'model',
  api_key_id: 'api_key_id',
};

/** The same question for usage. */
export function askedCosts({ line_items: models, group_by, ...query }: CostQueryParams): UsageQueryParams {
  return { ...query, models, group_by: group_by?.map((group) => groupOf[group]) };
}

/** The answer to a request, from the sums that the database has for it. */
export function usagePage(asked: AskedPage, sums: readonly UsageSum[], currency: string): UsagePage {
  return pageOf(asked, sums, (of) => resultsOf(of, { groups: asked.groups, currency }));
}

/** The same with what it cost. */
export function costPage(asked: AskedPage, sums: readonly UsageSum[], currency: string): CostPage {
  const result = ({ spend, model, tenant, key }: UsageSum): CostResult => ({
    object: 'organization.costs.result',
    amount: amountOf(spend, currency),
    line_item: model,
    project_id: tenant,
    api_key_id: key,
  });
  return pageOf(asked, sums, (of) => of.map(result));
}

function pageOf<Result>(
  { starts, widthSeconds, next }: AskedPage,
  sums: readonly UsageSum[],
  results: (sums: readonly UsageSum[]) => Result[],
) {
  const found = new Map<number, UsageSum[]>();
  for (const sum of sums) {
    const start = sum.hour * hour;
    const ofBucket = found.get(start);
    if (ofBucket) ofBucket.push(sum);
    else found.set(start, [sum]);
  }
  return {
    object: 'page' as const,
    data: starts.map((start) => ({
      object: 'bucket' as const,
      start_time: start,
      end_time: start + widthSeconds,
      results: results(found.get(start) ?? []),
    })),
    has_more: next !== undefined,
    next_page: next === undefined ? null : `page_${next}`,
  };
}

/** How a question was asked, as far as its answer goes by that. */
interface Answered {
  groups: readonly UsageGroup[];
  currency: string;
}

const amountOf = (spend: number, currency: string) => ({
  value: money.fromStored(spend),
  currency: currency.toLowerCase(),
});

/** Grouped by `batch` alone, the tiers that are not that come together. */
function resultsOf(sums: readonly UsageSum[], answered: Answered): UsageResult[] {
  const results = new Map<string, UsageResult>();
  for (const sum of sums) {
    const result = resultOf(sum, answered);
    const group = JSON.stringify([
      result.project_id,
      result.api_key_id,
      result.model,
      result.batch,
      result.service_tier,
      result.label,
    ]);
    const before = results.get(group);
    results.set(group, before ? together(before, result) : result);
  }
  return [...results.values()];
}

function resultOf(sum: UsageSum, { groups, currency }: Answered): UsageResult {
  const by = (group: UsageGroup) => groups.includes(group);
  return {
    object: 'organization.usage.completions.result',
    num_model_requests: sum.responses,
    input_tokens: sum.input,
    input_cached_tokens: sum.cached,
    input_cache_write_tokens: sum.cacheWrite,
    output_tokens: sum.output,
    project_id: sum.tenant,
    user_id: null,
    api_key_id: sum.key,
    model: sum.model,
    batch: by('batch') ? sum.tier === 'batch' : null,
    service_tier: by('service_tier') ? sum.tier : null,
    label: sum.label,
    output_reasoning_tokens: sum.reasoning,
    uncounted_tokens: sum.uncounted,
    num_completed: sum.completed,
    num_failed: sum.failed,
    num_incomplete: sum.incomplete,
    num_cancelled: sum.cancelled,
    slot_seconds: sum.slotMs / 1_000,
    amount: amountOf(sum.spend, currency),
  };
}

function together(one: UsageResult, other: UsageResult): UsageResult {
  const sum = { ...one };
  for (const name of summed) sum[name] += other[name];
  const { value, currency } = one.amount;
  return { ...sum, amount: { value: value + other.amount.value, currency } };
}

const summed = [
  'num_model_requests',
  'input_tokens',
  'input_cached_tokens',
  'input_cache_write_tokens',
  'output_tokens',
  'output_reasoning_tokens',
  'uncounted_tokens',
  'num_completed',
  'num_failed',
  'num_incomplete',
  'num_cancelled',
  'slot_seconds',
] as const satisfies (keyof UsageResult)[];
