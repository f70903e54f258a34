import { resolve } from 'node:path';
import type { ServiceTier } from '@sluice/contract';
import { hashKey } from './api-keys.ts';
import { defaultReadsPerMinute, defaultWeight, type TenantLimits } from './key-schema.ts';
import type { ParsedSettings } from './settings-schema.ts';

type ParsedModel = ParsedSettings['models'][number];
type ParsedKey = ParsedSettings['keys'][number];

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
  tiers: ServiceTier[];
  /** The weight of the tenant. All of its keys have the same weight and limits. */
  weight: number;
  limits: TenantLimits;
  /** ISO 8601 in UTC. */
  expiresAt?: string;
  disabled: boolean;
}

/** All settings of a process, checked and complete. Plain data that survives JSON. */
export interface Settings extends Omit<ParsedSettings, 'models' | 'keys'> {
  models: ModelSettings[];
  keys: KeySettings[];
  /** The file that was read, as an absolute path; absent when there was none. */
  file?: string;
}

/** Completes the output of the schema to the settings that the service works with. */
export function completeSettings(parsed: ParsedSettings, cwd: string, file: string | undefined): Settings {
  const { retention } = parsed;
  return {
    ...parsed,
    dataDir: resolve(cwd, parsed.dataDir),
    models: completeModels(parsed.models),
    keys: completeKeys(parsed.keys),
    // An event log that outlives its response would keep content past its retention.
    retention: {
      ...retention,
      eventLogSeconds: Math.min(retention.eventLogSeconds, retention.responseSeconds),
    },
    ...(file !== undefined && { file: resolve(cwd, file) }),
  };
}

function completeModels(models: readonly ParsedModel[]): ModelSettings[] {
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

function completeKeys(keys: readonly ParsedKey[]): KeySettings[] {
  const tenants = new Map<string, { weight?: number; limits: ParsedKey['limits'] }>();
  for (const { name, weight, limits } of keys) {
    const tenant = tenants.get(name);
    tenants.set(name, {
      ...tenant,
      ...(weight !== undefined && { weight }),
      limits: { ...tenant?.limits, ...limits },
    });
  }
  return keys.map(({ name, key, hash, models, tiers, expiresAt, disabled }) => {
    const tenant = tenants.get(name);
    return {
      name,
      hash: key === undefined ? (hash ?? '').replace(/^sha256:/, '').toLowerCase() : hashKey(key),
      models,
      tiers,
      weight: tenant?.weight ?? defaultWeight,
      limits: { readsPerMinute: defaultReadsPerMinute, ...tenant?.limits },
      ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
      disabled,
    };
  });
}
