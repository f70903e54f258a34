import type { KeySettings } from '@sluice/config';
import type { KeyTier } from '@sluice/contract';
import type { TenantLimits } from '@sluice/contract/tenant-limits';

/** What the keys of a tenant let it do, without the keys. */
export interface Tenant {
  name: string;
  weight: number;
  /** What any of its keys may ask for. Empty when none of them is accepted: all are disabled or expired. */
  tiers: KeyTier[];
  /** The same of models, by their ids; `*` alone is all of them. */
  models: string[];
  limits: TenantLimits;
}

/**
 * The tenants that have these keys, each once, in the order of their first keys. `now` is in milliseconds since 1970.
 */
export function tenantsOf(keys: readonly KeySettings[], now: number): Tenant[] {
  const tenants = new Map<string, Tenant>();
  for (const { name, weight, limits, tiers, models, disabled, expiresAt } of keys) {
    const tenant = tenants.get(name) ?? { name, weight, tiers: [], models: [], limits };
    tenants.set(name, tenant);
    if (disabled || (expiresAt !== undefined && now >= Date.parse(expiresAt))) continue;
    tenant.tiers = [...new Set([...tenant.tiers, ...tiers])];
    const allowed = [...new Set([...tenant.models, ...models])];
    tenant.models = allowed.includes('*') ? ['*'] : allowed;
  }
  return [...tenants.values()];
}
