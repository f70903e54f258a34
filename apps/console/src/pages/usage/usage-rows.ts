import type { UsageGroup, UsagePage, UsageResult } from '@sluice/contract';

/** The groups of usage. */
export const groups = [
  { value: 'model', label: 'Model' },
  { value: 'project_id', label: 'Tenant' },
  { value: 'api_key_id', label: 'Key' },
  { value: 'service_tier', label: 'Tier' },
  { value: 'label', label: 'Label' },
] as const satisfies { value: UsageGroup; label: string }[];
export type Group = (typeof groups)[number]['value'];

/** The spans of time, and their steps. */
export const ranges = [
  { value: 'day', label: 'Day', seconds: 86_400, width: '1h', limit: 25 },
  { value: 'week', label: 'Week', seconds: 7 * 86_400, width: '1d', limit: 8 },
  { value: 'month', label: 'Month', seconds: 30 * 86_400, width: '1d', limit: 31 },
] as const;

/** The figures that are drawn over time. */
export const measures = [
  {
    value: 'tokens',
    label: 'Tokens',
    of: ({ input_tokens, output_tokens }: UsageResult) => input_tokens + output_tokens,
  },
  { value: 'responses', label: 'Responses', of: ({ num_model_requests }: UsageResult) => num_model_requests },
  { value: 'spend', label: 'Spend', of: ({ amount }: UsageResult) => amount.value },
] as const;

/** The usage of one group in all. */
export interface UsageRow {
  name: string;
  responses: number;
  failed: number;
  input: number;
  cached: number;
  output: number;
  slotSeconds: number;
  spend: number;
}

const nameOf = (result: UsageResult, group: Group): string => result[group] ?? '';

/** The sums of each group over the whole time, the most tokens first. */
export function usageRows({ data }: UsagePage, group: Group): UsageRow[] {
  const rows = new Map<string, UsageRow>();
  for (const result of data.flatMap(({ results }) => results)) {
    const name = nameOf(result, group);
    const row = rows.get(name) ?? {
      name,
      responses: 0,
      failed: 0,
      input: 0,
      cached: 0,
      output: 0,
      slotSeconds: 0,
      spend: 0,
    };
    row.responses += result.num_model_requests;
    row.failed += result.num_failed;
    row.input += result.input_tokens;
    row.cached += result.input_cached_tokens;
    row.output += result.output_tokens;
    row.slotSeconds += result.slot_seconds;
    row.spend += result.amount.value;
    rows.set(name, row);
  }
  const tokensOf = ({ input, output }: UsageRow) => input + output;
  return [...rows.values()].toSorted(
    (one, other) => tokensOf(other) - tokensOf(one) || one.name.localeCompare(other.name),
  );
}

/** Lines that a chart can tell apart. */
const mostLines = 6;

/** A line for each of the largest groups, and one for the rest. Rows are in their order. */
export function usageLines(
  { data }: UsagePage,
  { group, rows, of }: { group: Group; rows: readonly UsageRow[]; of: (result: UsageResult) => number },
): { label: string; values: number[] }[] {
  const own = rows.slice(0, rows.length > mostLines ? mostLines - 1 : mostLines).map(({ name }) => name);
  const sums = data.map(({ results }) => {
    const byName = new Map<string, number>();
    for (const result of results) {
      const name = nameOf(result, group);
      const line = own.includes(name) ? name : others;
      byName.set(line, (byName.get(line) ?? 0) + of(result));
    }
    return byName;
  });
  const labels = own.length < rows.length ? [...own, others] : own;
  return labels.map((label) => ({ label, values: sums.map((byName) => byName.get(label) ?? 0) }));
}

const others = 'Others';

/** The currency of the amounts; undefined where nothing ended. */
export function currencyOf({ data }: UsagePage): string | undefined {
  return data.flatMap(({ results }) => results)[0]?.amount.currency.toUpperCase();
}
