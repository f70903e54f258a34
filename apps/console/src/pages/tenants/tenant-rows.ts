import type { TenantReportRow } from '@sluice/contract/admin';
import {
  type CountedLimit,
  countedLimits,
  type LimitWireName,
  tenantLimits,
} from '@sluice/contract/tenant-limits';

/** The orders of the list: the word for people, and the compared value, largest first. */
export const orders = {
  share: { word: 'Largest share', of: (row: TenantReportRow) => row.share ?? 0 },
  waiting: { word: 'Most waiting', of: ({ use }: TenantReportRow) => use.waiting + (use.in_line ?? 0) },
  limit: { word: 'Nearest to a limit', of: (row: TenantReportRow) => fullestOf(row)?.share ?? 0 },
  weight: { word: 'Largest weight', of: ({ weight }: TenantReportRow) => weight },
  name: { word: 'Name', of: () => 0 },
} as const;
export type Order = keyof typeof orders;

/** The order that the address names; the largest share first without one that is known. */
export function orderOf(text: string): Order {
  return Object.hasOwn(orders, text) ? (text as Order) : 'share'; // It is one of its keys.
}

/** Tenants in an order; names decide between equals, so that rows do not dance. */
export function tenantRows(rows: readonly TenantReportRow[], order: Order): TenantReportRow[] {
  const { of } = orders[order];
  return rows.toSorted((one, other) => of(other) - of(one) || one.tenant.localeCompare(other.tenant));
}

/** A limit with its use. `max` null: no limit; `used` null: nobody counts. */
export interface MeasuredLimit {
  key: LimitWireName;
  label: string;
  used: number | null;
  max: number | null;
  isBytes: boolean;
}

/** A limit of a tenant whose use is counted. */
export function measured(
  name: CountedLimit,
  { limits, use }: Pick<TenantReportRow, 'limits' | 'use'>,
): MeasuredLimit {
  const { wire, use: counted, label, unit } = tenantLimits[name];
  return { key: wire, label, used: use[counted], max: limits[wire], isBytes: unit === 'bytes' };
}

/** The limits of a tenant, in the order in which a request meets them. */
export function measuredLimits(row: Pick<TenantReportRow, 'limits' | 'use'>): MeasuredLimit[] {
  return countedLimits.map((name) => measured(name, row));
}

/** The limit that is used up most, and how much of it; undefined without a limit. */
export function fullestOf(
  row: Pick<TenantReportRow, 'limits' | 'use'>,
): { limit: MeasuredLimit; share: number } | undefined {
  let fullest: { limit: MeasuredLimit; share: number } | undefined;
  for (const limit of measuredLimits(row)) {
    if (limit.max === null || limit.used === null) continue;
    const share = limit.max === 0 ? 1 : limit.used / limit.max;
    if (fullest === undefined || share > fullest.share) fullest = { limit, share };
  }
  return fullest;
}

/** A share compared with the fair one, in words. */
export function shareWords(share: number | null, fair: number | null): string {
  if (share === null || fair === null) return 'No output in the last five minutes';
  if (share > fair * 1.1 + 0.005) return 'More than its fair share, which others leave to it';
  if (share < fair * 0.9 - 0.005) return 'Less than its fair share';
  return 'About its fair share';
}
