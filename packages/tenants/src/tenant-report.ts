import type { TenantReportRow, TenantUseNow } from '@sluice/contract/admin';
import { forEachOnWire, type TenantLimits } from '@sluice/contract/tenant-limits';
import type { Tenant } from './keys/tenants-of-keys.ts';

/** What operators are told of a tenant, in the names of the wire. */
export type ReportedTenant = Pick<
  TenantReportRow,
  'tenant' | 'weight' | 'tiers' | 'models' | 'limits' | 'use'
>;

/** Tenants as `sluice tenants --json` prints them. */
export interface TenantReport {
  tenants: ReportedTenant[];
}

/** Says of tenants, in their order, what they may do and what they use now. */
export type TenantReporter = (tenants: readonly Tenant[]) => Promise<TenantReport>;

/** What measures the use of tenants, in their order: the response store. */
export interface UseMeter {
  tenantUse: (tenants: readonly Pick<Tenant, 'name' | 'limits'>[]) => Promise<TenantUseNow[]>;
}

/**
 * Says of tenants, in their order, what they may do and what they use now. Their limits are those in effect, with what
 * they have as their share of the service.
 */
export async function reportTenants(
  store: UseMeter,
  tenants: readonly Tenant[],
  inEffect: (own: TenantLimits) => TenantLimits,
): Promise<TenantReport> {
  const uses = await store.tenantUse(tenants);
  return {
    tenants: tenants.flatMap(({ name, weight, tiers, models, limits: own }, at) => {
      const use = uses[at];
      if (use === undefined) return [];
      const limits = inEffect(own);
      const onWire = forEachOnWire((limit) => limits[limit] ?? null);
      return [{ tenant: name, weight, tiers, models, limits: onWire, use }];
    }),
  };
}
