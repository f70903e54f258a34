export {
  type ChangedKeys,
  changedKeys,
  type ChangedModels,
  changedModels,
  hasChangedModels,
  type LiveLimits,
} from './changed-settings.ts';
export { checkKey, type KeyRules } from './check-key.ts';
export { checkModel } from './check-model.ts';
export { type CheckedProvider, checkProvider, missingVariable } from './check-provider.ts';
export { ConfigError, formatPath, type Problem } from './config-error.ts';
export { faultOfAllowedModel } from './cross-checks.ts';
export { defaultTiers, defaultWeight, hashKey, keySchema, limitsSchema } from './key-schema.ts';
export { keepSecret, type KeptSecret, readSecret, type SecretKind } from './kept-secret.ts';
export { describeFlags, wantsHelp } from './command-line.ts';
export { developmentActionToken } from './development-action-token.ts';
export { findService, type ServicePlace } from './find-service.ts';
export { type Environment, readVariable, type Role } from './environment-variables.ts';
export { isLoopback } from './hosts.ts';
export { loadSettings, type SettingsSources } from './load-settings.ts';
export { StoredRefusal } from './stored-refusal.ts';
export { suggestName } from './nearest-name.ts';
export { mostServers, type StoredProvider } from './provider-schema.ts';
export { serverAddress } from './server-checks.ts';
export { serversOf, type ServerSettings } from './servers-of.ts';
export {
  completeTenant,
  type DiscoveringProvider,
  gatherTenants,
  isDiscovering,
  type KeySettings,
  type ModelSettings,
  type ProviderSettings,
  type RouteSettings,
  type Settings,
  type TenantSettings,
} from './settings.ts';
export type { ModelPrice } from './model-schema.ts';
export type { ReadFile } from './settings-file.ts';
export { simulatorAlone } from './settings-input.ts';
export {
  openSettings,
  type OpenSettings,
  type SettingsLog,
  type SettingsWatch,
  type SettingsWatchOptions,
} from './settings-watch.ts';
export type { TraceSettings } from './trace-settings.ts';
export { type UpstreamKeys, upstreamVariable } from './upstream-keys.ts';
