import type { TenantReportRow } from '@sluice/contract/admin';

/** How the list can be ordered: the word for people, and what is compared, largest first. */
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

export type LimitUnit = 'count' | 'bytes';

/** A limit with what is used of it. `max` null: no limit; `used` null: nobody counts. */
export interface LimitUse {
  key: keyof TenantReportRow['limits'];
  label: string;
  used: number | null;
  max: number | null;
  unit: LimitUnit;
}

/** The limits of a tenant, in the order in which a request meets them. */
export function limitUses({ limits, use }: Pick<TenantReportRow, 'limits' | 'use'>): LimitUse[] {
  return [
    {
      key: 'requests_per_minute',
      label: 'Requests in a minute',
      used: use.requests_in_minute,
      max: limits.requests_per_minute,
      unit: 'count',
    },
    {
      key: 'tokens_per_minute',
      label: 'Tokens in a minute',
      used: use.tokens_in_minute,
      max: limits.tokens_per_minute,
      unit: 'count',
    },
    { key: 'concurrent', label: 'Running', used: use.running, max: limits.concurrent, unit: 'count' },
    { key: 'queued', label: 'Waiting', used: use.waiting, max: limits.queued, unit: 'count' },
    {
      key: 'queued_bytes',
      label: 'Bytes of what waits',
      used: use.waiting_bytes,
      max: limits.queued_bytes,
      unit: 'bytes',
    },
    {
      key: 'stored_bytes',
      label: 'Bytes stored',
      used: use.stored_bytes,
      max: limits.stored_bytes,
      unit: 'bytes',
    },
  ];
}

/** The limit that is used up most, and how much of it; undefined without a limit. */
export function fullestOf(
  row: Pick<TenantReportRow, 'limits' | 'use'>,
): { limit: LimitUse; share: number } | undefined {
  let fullest: { limit: LimitUse; share: number } | undefined;
  for (const limit of limitUses(row)) {
    if (limit.max === null || limit.used === null) continue;
    const share = limit.max === 0 ? 1 : limit.used / limit.max;
    if (fullest === undefined || share > fullest.share) fullest = { limit, share };
  }
  return fullest;
}

/** What a share means beside the fair one, in words. */
export function shareWords(share: number | null, fair: number | null): string {
  if (share === null || fair === null) return 'No output in the last five minutes';
  if (share > fair * 1.1 + 0.005) return 'More than its fair share, which others leave to it';
  if (share < fair * 0.9 - 0.005) return 'Less than its fair share';
  return 'About its fair share';
}
