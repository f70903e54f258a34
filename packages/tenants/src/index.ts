export type { IssuedKey, RotatedKey } from './change/change-keys.ts';
export type { TenantChange, TenantChanged } from './change/change-tenant.ts';
export type { StoredKeys } from './change/key-changes.ts';
export { KeyChangeFailed, type KeyProblem, KeyRefusal, type RuleProblem } from './change/key-refusal.ts';
export { createKey, type KeyPrefix } from './keys/api-keys.ts';
export {
  developmentKey,
  developmentKeyId,
  findDevelopmentKey,
  readDevelopmentKey,
} from './keys/development-key.ts';
export type { KnownKeys } from './keys/keys-in-effect.ts';
export { KeyRing } from './keys/key-ring.ts';
export { type Tenant, tenantsOf } from './keys/tenants-of-keys.ts';
export { describeConflict, uniteKeys } from './keys/unite-keys.ts';
export { limitsInEffect } from './limits-in-effect.ts';
export { LiveSettings } from './live-settings.ts';
export { KeyStore } from './stored/key-store.ts';
export { stateOfKey, type StoredKey, storedKeyText } from './stored/stored-key.ts';
export type { ReportedTenant, TenantReporter } from './tenant-report.ts';
export { type KeysOfService, Tenants, type TenantsOptions } from './tenants.ts';
