import { resolve } from 'node:path';
import type { KeyTier } from '@sluice/contract';
import { constantLimits, type GivenLimits, type TenantLimits } from '@sluice/contract/tenant-limits';
import { defaultWeight, hashKey } from './key-schema.ts';
import type { z } from 'zod';
import type { storedProviderSchema } from './provider-schema.ts';
import type { ParsedSettings } from './settings-schema.ts';
import type { TraceSettings } from './trace-settings.ts';
import type { UpstreamKeys } from './upstream-keys.ts';

type ParsedModel = ParsedSettings['models'][number];
type ParsedKey = ParsedSettings['keys'][number];
type ParsedProvider = ParsedSettings['providers'][number];
type ParsedStoredProvider = z.output<typeof storedProviderSchema>;

/** A provider with every default filled in. The `baseUrl` of one with `replicas` is that of the first. */
export type ProviderSettings = WithBaseUrl<ParsedProvider>;

/** A provider whose upstream is asked for its models. */
export type DiscoveringProvider = Extract<ProviderSettings, { discover: boolean }>;

export function isDiscovering(provider: ProviderSettings): provider is DiscoveringProvider {
  return 'discover' in provider && provider.discover;
}

type WithBaseUrl<Provider> = Provider extends { type: 'openai-chat' | 'openai-responses' }
  ? Omit<Provider, 'baseUrl'> & {
      baseUrl: string;
      /** The variable that a stored provider has its `apiKey` from, which is absent where this process lacks the variable. */
      apiKeyVariable?: string;
    }
  : Provider;

/** A provider to try, and the name of the model there. */
export interface RouteSettings {
  provider: string;
  model: string;
}

/** A model with its queue and the concurrency of that queue. */
export interface ModelSettings extends Omit<ParsedModel, 'routes' | 'queue'> {
  routes: RouteSettings[];
  /** Not encoded. Models of one queue share its `concurrency`. */
  queue: string;
}

/** A key of a tenant. It holds only the hash; the plain key is dropped while settings load. */
export interface KeySettings {
  /** The tenant. */
  name: string;
  /** SHA-256 of the key in lower-case hexadecimal. */
  hash: string;
  /** Ids of models; `*` is all of them. */
  models: string[];
  tiers: KeyTier[];
  /** The weight of the tenant. All of its keys have the same weight and limits. */
  weight: number;
  limits: TenantLimits;
  /** Limits of the key alone, beside those of its tenant. */
  budget?: ParsedKey['budget'];
  /** ISO 8601 in UTC. */
  expiresAt?: string;
  disabled: boolean;
}

/** The settings of a tenant from some of its keys. A setting that none of them has is absent. */
export interface TenantSettings {
  name: string;
  weight?: number;
  limits: GivenLimits;
}

/** All settings of a process, checked and complete. Plain data that survives JSON. */
export interface Settings extends Omit<ParsedSettings, 'providers' | 'models' | 'keys'> {
  providers: ProviderSettings[];
  models: ModelSettings[];
  keys: KeySettings[];
  /** The settings of tenants from the keys of the file. Stored keys may have others; see `uniteKeys`. */
  tenants: TenantSettings[];
  /** The keys that stored providers may name; absent when this process has none. */
  upstreamKeys?: UpstreamKeys;
  /** Where traces go, by the variables of OpenTelemetry; absent when they are off. */
  traces?: TraceSettings;
  /** The file that was read, as an absolute path; absent when there was none. */
  file?: string;
  /** Whether the file sets nothing, not even in part: it is empty, or has comments alone. Absent otherwise. */
  isFileBlank?: boolean;
}

/** Completes the output of the schema to the settings that the service works with. */
export function completeSettings(parsed: ParsedSettings, cwd: string, file: string | undefined): Settings {
  const { retention } = parsed;
  const tenants = gatherTenants(parsed.keys);
  return {
    ...parsed,
    dataDir: resolve(cwd, parsed.dataDir),
    providers: parsed.providers.map(completeProvider),
    models: completeModels(parsed.models),
    keys: completeKeys(parsed.keys, tenants),
    tenants: [...tenants.values()],
    // An event log that outlives its response would keep content past its retention.
    retention: {
      ...retention,
      eventLogSeconds: Math.min(retention.eventLogSeconds, retention.responseSeconds),
    },
    ...(file !== undefined && { file: resolve(cwd, file) }),
  };
}

export function completeProvider(provider: ParsedProvider | ParsedStoredProvider): ProviderSettings {
  if (provider.type !== 'openai-chat' && provider.type !== 'openai-responses') return provider;
  // One of the two is there; see `checkServers`.
  const baseUrl = provider.baseUrl ?? provider.replicas?.[0] ?? '';
  return { headers: {}, ...provider, baseUrl };
}

/** Gives each model what follows from the others. */
export function completeModels(models: readonly ParsedModel[]): ModelSettings[] {
  const concurrencies = new Map<string, number>();
  for (const { id, queue = id, concurrency } of models) {
    if (concurrency !== undefined) concurrencies.set(queue, concurrency);
  }
  return models.map(({ queue, routes, ...model }) => {
    const name = queue ?? model.id;
    const concurrency = concurrencies.get(name);
    return {
      ...model,
      queue: name,
      routes: routes.map((route) => ({ provider: route.provider, model: route.model ?? model.id })),
      ...(concurrency !== undefined && { concurrency }),
    };
  });
}

/** Merges the settings of tenants from their keys. A later key wins over an earlier one that it contradicts. */
export function gatherTenants(
  keys: readonly { name: string; weight?: number; limits: GivenLimits }[],
): Map<string, TenantSettings> {
  const tenants = new Map<string, TenantSettings>();
  for (const { name, weight, limits } of keys) {
    const tenant = tenants.get(name);
    tenants.set(name, {
      ...tenant,
      name,
      ...(weight !== undefined && { weight }),
      limits: { ...tenant?.limits, ...limits },
    });
  }
  return tenants;
}

/** The weight and the limits of a tenant, with defaults for those that no key sets. */
export function completeTenant(tenant: TenantSettings | undefined): Pick<KeySettings, 'weight' | 'limits'> {
  return {
    weight: tenant?.weight ?? defaultWeight,
    limits: { ...constantLimits, ...tenant?.limits },
  };
}

function completeKeys(
  keys: readonly ParsedKey[],
  tenants: ReadonlyMap<string, TenantSettings>,
): KeySettings[] {
  return keys.map(({ name, key, hash, models, tiers, budget, expiresAt, disabled }) => ({
    name,
    hash: key === undefined ? (hash ?? '').replace(/^sha256:/, '').toLowerCase() : hashKey(key),
    models,
    tiers,
    ...completeTenant(tenants.get(name)),
    ...(budget && { budget }),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
    disabled,
  }));
}
