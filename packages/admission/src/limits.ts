import { money } from '@sluice/contract';
import {
  type BudgetName,
  budgetNames,
  countedLimits,
  type LimitName,
  tenantLimits,
} from '@sluice/contract/tenant-limits';

/** The limits of a tenant and of the service at the moment of an accept. An absent limit of the tenant is none. */
export type AdmissionLimits = { readonly [Name in LimitName]?: number | undefined } & {
  /** The limits of the API key alone. */
  key?: { readonly [Name in BudgetName]?: number | undefined } | undefined;
  /** Most responses, and most bytes of them, that may wait in the whole service. */
  service: { queued: number; queuedBytes: number };
  /** The limits of all cells together, where these are the part that holds in one of several. Who is told of a budget is told of these. */
  whole?: AdmissionLimits | undefined;
};

/** The tokens that one response may take of the limits. */
export interface ExpectedTokens {
  /** Without what it continues from. */
  input: number;
  output: number;
  /** Most tokens of input, with what it continues from; undefined for no limit. */
  mostInput: number | undefined;
  /** Whether what is more is left out, and not refused. */
  truncates?: boolean;
}

/**
 * The limits of the tenant, and what the response may take of them, as `limits_of` reads them: `name=value`, by the names of
 * the wire. Empty when nothing but the service limits the response.
 */
export function printLimits(
  limits: AdmissionLimits,
  { input, output, mostInput, truncates = false }: ExpectedTokens,
): string {
  const words: string[] = [];
  for (const name of countedLimits) {
    const limit = limits[name];
    if (limit !== undefined) words.push(wordOf(name, limit));
  }
  words.push(...budgetWords(limits.key, 'key_'));
  words.push(...budgetWords(limits.whole, 'whole_'), ...budgetWords(limits.whole?.key, 'whole_key_'));
  if (mostInput !== undefined) words.push(`most_input=${mostInput}`);
  if (words.length === 0) return '';
  words.push(`input_tokens=${input}`, `output_tokens=${output}`);
  if (truncates) words.push('truncates=1');
  return words.join(' ');
}

function budgetWords(limits: AdmissionLimits['key'], prefix: string): string[] {
  return budgetNames.flatMap((name) => {
    const limit = limits?.[name];
    return limit === undefined ? [] : [`${prefix}${wordOf(name, limit)}`];
  });
}

function wordOf(name: LimitName, limit: number): string {
  const { wire, unit } = tenantLimits[name];
  return `${wire}=${unit === 'money' ? money.toStored(limit) : limit}`;
}

/** Where a tenant stands with a limit of a minute. */
export interface WindowUse {
  limit: number;
  remaining: number;
  /** Until nothing of the minute counts any more, in milliseconds. */
  resetMs: number;
}

const refusals = [
  'rate_limited',
  'tokens_limited',
  'too_many_tokens',
  'too_many_bytes',
  'store_share_full',
  'tenant_queue_full',
  'queue_full',
] as const;

/**
 * Why a response was not admitted. `tokens_limited` is over for now, while `too_many_tokens` asks for more than a whole
 * minute has; and so are `store_share_full` and `too_many_bytes` of what the tenant may have in the store.
 */
export type Refusal = (typeof refusals)[number];

export function isRefusal(word: string | undefined): word is Refusal {
  return refusals.some((refusal) => refusal === word);
}

/** The budget that has less left than a response may take, and how much that is. */
export interface SpentBudget {
  name: BudgetName;
  /** Whether it is of the key alone. */
  isOfKey: boolean;
  limit: number;
  left: number;
  /** Whether the limit is divided among several cells, and this is left in one of them. */
  isDivided: boolean;
}

/** Reads what `look_at_budgets` says. */
export function parseSpent(
  word: string | undefined,
  left: string | undefined,
  limits: AdmissionLimits,
): SpentBudget {
  const isOfKey = word?.startsWith('key_') === true;
  const wire = isOfKey ? word.slice('key_'.length) : word;
  const name = budgetNames.find((each) => tenantLimits[each].wire === wire);
  if (name === undefined) throw new TypeError(`There is no budget '${String(word)}'`);
  const { whole = limits } = limits;
  const limit = (isOfKey ? whole.key : whole)?.[name] ?? 0;
  const amount = Number(left);
  return {
    name,
    isOfKey,
    limit,
    left: tenantLimits[name].unit === 'money' ? money.fromStored(amount) : amount,
    isDivided: whole !== limits,
  };
}

/** Reads what `enter` says of a limit; undefined for a tenant without one. */
export function parseUse(
  limit: number | undefined,
  remaining: string | undefined,
  resetMs: string | undefined,
): WindowUse | undefined {
  if (limit === undefined) return undefined;
  return { limit, remaining: Number(remaining ?? 0), resetMs: Number(resetMs ?? 0) };
}
