import type { TenantReportRow } from '@sluice/contract/admin';
import { forEachLimit, type LimitName, limitNames, tenantLimits } from '@sluice/contract/tenant-limits';
import { fieldOfParam, type KeyField, numberOf } from '../keys/key-form.ts';

/** The form as it is filled in. An empty limit means no limit, and an empty weight the default. */
export interface LimitsForm {
  weight: string;
  limits: Record<LimitName, string>;
}

/** The form with the values in effect for a tenant. */
export function limitsFormOf({ weight, limits }: Pick<TenantReportRow, 'weight' | 'limits'>): LimitsForm {
  return {
    weight: String(weight),
    limits: forEachLimit((_row, name) => String(limits[tenantLimits[name].wire] ?? '')),
  };
}

/** The body that takes a tenant from one form to the other; undefined when they say the same. */
export function limitsChange(before: LimitsForm, after: LimitsForm): Record<string, unknown> | undefined {
  const limits = limitNames
    .filter((name) => after.limits[name].trim() !== before.limits[name])
    .map((name) => [name, numberOrNull(after.limits[name])] as const);
  const isOtherWeight = after.weight.trim() !== before.weight;
  if (limits.length === 0 && !isOtherWeight) return undefined;
  return {
    ...(isOtherWeight && { weight: numberOrNull(after.weight) }),
    ...(limits.length > 0 && { limits: Object.fromEntries(limits) }),
  };
}

/** The field that a refusal is about; the form has none for the tenant. */
export function fieldOfLimits(param: string | null): KeyField | undefined {
  const field = fieldOfParam(param);
  return field === 'tenant' ? undefined : field;
}

function numberOrNull(typed: string): number | string | null {
  return typed.trim() === '' ? null : numberOf(typed);
}
