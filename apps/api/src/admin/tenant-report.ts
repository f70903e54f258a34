import type { LimitsInEffect, Tenant, TenantLimits } from '@sluice/config';
import type { TenantReportRow } from '@sluice/contract/admin';
import type { ResponseStore, TenantUseNow } from '@sluice/response-store';

/** What operators are told of a tenant, in the names of the wire. */
export type ReportedTenant = Pick<
  TenantReportRow,
  'tenant' | 'weight' | 'tiers' | 'models' | 'limits' | 'use'
>;

/** Tenants as `sluice tenants --json` prints them. */
export interface TenantReport {
  tenants: ReportedTenant[];
}

/**
 * Says of tenants, in their order, what they may do and what they use now. Their limits are those in effect, with what
 * they have as their share of the service.
 */
export async function reportTenants(
  store: Pick<ResponseStore, 'tenantUse'>,
  tenants: readonly Tenant[],
  inEffect: (own: TenantLimits) => LimitsInEffect,
): Promise<TenantReport> {
  const uses = await store.tenantUse(tenants);
  return {
    tenants: tenants.flatMap((tenant, at) => {
      const use = uses[at];
      return use ? [reported(tenant, inEffect(tenant.limits), use)] : [];
    }),
  };
}

function reported(
  { name, weight, tiers, models }: Tenant,
  limits: LimitsInEffect,
  use: TenantUseNow,
): ReportedTenant {
  return {
    tenant: name,
    weight,
    tiers,
    models,
    limits: {
      requests_per_minute: limits.requestsPerMinute ?? null,
      tokens_per_minute: limits.tokensPerMinute ?? null,
      concurrent: limits.concurrent ?? null,
      queued: limits.queued,
      queued_bytes: limits.queuedBytes,
      stored_bytes: limits.storedBytes ?? null,
      max_output_tokens: limits.maxOutputTokens ?? null,
    },
    use: {
      requests_in_minute: use.requests ?? null,
      tokens_in_minute: use.tokens ?? null,
      waiting: use.waiting,
      waiting_bytes: use.waitingBytes,
      stored_bytes: use.storedBytes,
      running: use.running ?? null,
      in_line: use.inLine ?? null,
    },
  };
}
