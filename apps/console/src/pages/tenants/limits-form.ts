import type { TenantReportRow } from '@sluice/contract/admin';
import { type LimitName, numberOf } from '../keys/key-form.ts';

/** Where the report of a tenant has each limit that can be changed here. */
const reported = {
  requestsPerMinute: 'requests_per_minute',
  tokensPerMinute: 'tokens_per_minute',
  concurrent: 'concurrent',
  queued: 'queued',
  queuedBytes: 'queued_bytes',
  storedBytes: 'stored_bytes',
  maxOutputTokens: 'max_output_tokens',
} as const satisfies Partial<Record<LimitName, keyof TenantReportRow['limits']>>;
export type ChangedLimit = keyof typeof reported;
export const changedLimits = Object.keys(reported) as ChangedLimit[]; // It has no other keys.

/** The form as it is filled in. An empty limit is none, and an empty weight the default. */
export interface LimitsForm {
  weight: string;
  limits: Record<ChangedLimit, string>;
}

/** The form with what holds for a tenant now. */
export function limitsFormOf({ weight, limits }: Pick<TenantReportRow, 'weight' | 'limits'>): LimitsForm {
  const text = (name: ChangedLimit) => String(limits[reported[name]] ?? '');
  return {
    weight: String(weight),
    // Each of them has its text.
    limits: Object.fromEntries(changedLimits.map((name) => [name, text(name)])) as LimitsForm['limits'],
  };
}

/** The body that takes a tenant from one form to the other; undefined when they say the same. */
export function limitsChange(before: LimitsForm, after: LimitsForm): Record<string, unknown> | undefined {
  const limits = changedLimits
    .filter((name) => after.limits[name].trim() !== before.limits[name])
    .map((name) => [name, numberOrNull(after.limits[name])] as const);
  const isOtherWeight = after.weight.trim() !== before.weight;
  if (limits.length === 0 && !isOtherWeight) return undefined;
  return {
    ...(isOtherWeight && { weight: numberOrNull(after.weight) }),
    ...(limits.length > 0 && { limits: Object.fromEntries(limits) }),
  };
}

function numberOrNull(typed: string): number | string | null {
  return typed.trim() === '' ? null : numberOf(typed);
}
