import type { ReportedTenant } from '@sluice/api/tenant-report';
import { tableText } from '../table.ts';

const titles = [
  'tenant',
  'weight',
  'requests/min',
  'tokens/min',
  'running',
  'in line',
  'waiting',
  'waiting bytes',
  'stored bytes',
  'max output',
  'tiers',
  'models',
];

/** Tenants as a table, one line for each: what is used, and behind a stroke the limit, where there is one. */
export function tenantsTable(tenants: readonly ReportedTenant[]): string {
  return tableText([titles, ...tenants.map(row)]);
}

function row({ tenant, weight, tiers, models, limits, use }: ReportedTenant): string[] {
  return [
    tenant,
    String(weight),
    usedOf(use.requests_in_minute, limits.requests_per_minute),
    usedOf(use.tokens_in_minute, limits.tokens_per_minute),
    usedOf(use.running, limits.concurrent),
    usedOf(use.in_line, null),
    usedOf(use.waiting, limits.queued),
    usedOf(use.waiting_bytes, limits.queued_bytes),
    usedOf(use.stored_bytes, limits.stored_bytes),
    usedOf(limits.max_output_tokens, null),
    tiers.join(',') || '-',
    models.join(',') || '-',
  ];
}

function usedOf(used: number | null, limit: number | null): string {
  if (used === null) return '-';
  return limit === null ? String(used) : `${used}/${limit}`;
}
