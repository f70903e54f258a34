export { type ChangedKeys, changedKeys } from './changed-settings.ts';
export { createKey, hashKey, type KeyPrefix } from './api-keys.ts';
export { describeFlags, wantsHelp } from './command-line.ts';
export { ConfigError, type Problem } from './config-error.ts';
export { developmentActionToken } from './development-action-token.ts';
export { type DevelopmentKey, developmentKey, readDevelopmentKey } from './development-key.ts';
export {
  developmentKeyId,
  developmentKeyInEffect,
  developmentKeyRevokedAt,
  mayTakeDevelopmentKey,
  revokedDevelopmentKey,
  withDevelopmentKey,
} from './development-key-in-effect.ts';
export { findDevelopmentKey } from './find-development-key.ts';
export { findService, type ServicePlace } from './find-service.ts';
export { type Environment, readVariable, type Role } from './environment-variables.ts';
export { isLoopback } from './hosts.ts';
export { keyOfKeylessService } from './keyless-service.ts';
export { KeyRing, type KeyRingOptions } from './key-ring.ts';
export type { TenantLimits } from './key-schema.ts';
export { type LimitsInEffect, limitsInEffect } from './limits-in-effect.ts';
export { type LiveLimits, LiveSettings, type LiveSettingsOptions } from './live-settings.ts';
export { loadSettings, type SettingsSources } from './load-settings.ts';
export { suggestName } from './nearest-name.ts';
export { changeOfTenant, type TenantChange } from './change-tenant.ts';
export { checkNewKey, describeKeyLimits, type NewKey } from './new-key.ts';
export type { ProviderSettings } from './provider-schema.ts';
export type {
  KeySettings,
  ModelSettings,
  RouteSettings,
  Settings,
  TenantSettings,
} from './settings.ts';
export type { ReadFile } from './settings-file.ts';
export { simulatorAlone } from './settings-input.ts';
export {
  openSettings,
  type OpenSettings,
  type SettingsLog,
  type SettingsWatch,
  type SettingsWatchOptions,
} from './settings-watch.ts';
export {
  type KeyRules,
  stateOfKey,
  type StoredKey,
  StoredKeyReader,
  type StoredKeyState,
  storedKeyText,
  type UnreadableKey,
} from './stored-key.ts';
export { type Tenant, tenantsOf } from './tenants-of-keys.ts';
export { describeConflict, type KeyConflict, type KeysToUnite, uniteKeys } from './unite-keys.ts';
export type { TraceSettings } from './trace-settings.ts';
