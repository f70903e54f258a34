import { type LimitName, limitNames, tenantLimits } from '@sluice/contract/tenant-limits';
import type { ReportedTenant } from '@sluice/tenants';
import { tableText } from '../table.ts';

type Column = [title: string, cell: (tenant: ReportedTenant) => string];

const columns: readonly Column[] = [
  ['tenant', ({ tenant }) => tenant],
  ['weight', ({ weight }) => String(weight)],
  ...limitNames.flatMap((name): Column[] => {
    const column: Column = [tenantLimits[name].short.toLowerCase(), (tenant) => usedOf(name, tenant)];
    return name === 'concurrent' ? [column, ['in line', ({ use }) => String(use.in_line ?? '-')]] : [column];
  }),
  ['tiers', ({ tiers }) => tiers.join(',') || '-'],
  ['models', ({ models }) => models.join(',') || '-'],
];

/** Tenants as a table, one line for each: the use, and behind a stroke the limit, if there is one. */
export function tenantsTable(tenants: readonly ReportedTenant[]): string {
  const rows = tenants.map((tenant) => columns.map(([, cell]) => cell(tenant)));
  return tableText([columns.map(([title]) => title), ...rows]);
}

/** The limit alone where no use is reported. */
function usedOf(name: LimitName, { limits, use }: ReportedTenant): string {
  const { wire, use: counted } = tenantLimits[name];
  const limit = limits[wire];
  const used = counted === null ? limit : use[counted];
  if (used === null) return '-';
  return counted === null || limit === null ? String(used) : `${used}/${limit}`;
}
