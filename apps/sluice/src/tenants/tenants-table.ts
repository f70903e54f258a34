import { type LimitName, limitNames, tenantLimits } from '@sluice/contract/tenant-limits';
import type { ReportedTenant } from '@sluice/tenants';
import { type Column, columnsText } from '../table.ts';

const columns: readonly Column<ReportedTenant>[] = [
  ['tenant', ({ tenant }) => tenant],
  ['weight', ({ weight }) => String(weight)],
  ...limitNames.flatMap((name): Column<ReportedTenant>[] => {
    const column: Column<ReportedTenant> = [
      tenantLimits[name].short.toLowerCase(),
      (tenant) => usedOf(name, tenant),
    ];
    return name === 'concurrent' ? [column, ['in line', ({ use }) => String(use.in_line ?? '-')]] : [column];
  }),
  ['tiers', ({ tiers }) => tiers.join(',') || '-'],
  ['models', ({ models }) => models.join(',') || '-'],
];

/** Tenants as a table, one line for each: the use, and behind a stroke the limit, if there is one. */
export function tenantsTable(tenants: readonly ReportedTenant[]): string {
  return columnsText(columns, tenants);
}

/** The limit alone where no use is reported. */
function usedOf(name: LimitName, { limits, use }: ReportedTenant): string {
  const { wire, use: counted } = tenantLimits[name];
  const limit = limits[wire];
  const used = counted === null ? limit : use[counted];
  if (used === null) return '-';
  return counted === null || limit === null ? String(used) : `${used}/${limit}`;
}
