import { resolve } from 'node:path';
import { hashKey } from './api-keys.ts';
import { defaultReadsPerMinute, defaultWeight, type ServiceTier, type TenantLimits } from './key-schema.ts';
import type { ParsedSettings } from './settings-schema.ts';

type ParsedModel = ParsedSettings['models'][number];
type ParsedKey = ParsedSettings['keys'][number];

/** A provider to try, and the name the model has there. */
export interface RouteSettings {
  provider: string;
  model: string;
}

/** A model with the queue it waits in and the concurrency of that queue. */
export interface ModelSettings extends Omit<ParsedModel, 'routes' | 'queue'> {
  routes: RouteSettings[];
  /** Not encoded. Models of one queue share its `concurrency`. */
  queue: string;
}

/** A key of a tenant. Holds the hash only: the plain key is gone once settings are loaded. */
export interface KeySettings {
  /** The tenant. */
  name: string;
  /** SHA-256 of the key in lower-case hexadecimal. */
  hash: string;
  /** Ids of models; `*` is all of them. */
  models: string[];
  tiers: ServiceTier[];
  /** Of the tenant: equal in all its keys, as are the limits. */
  weight: number;
  limits: TenantLimits;
  /** ISO 8601 in UTC. */
  expiresAt?: string;
  disabled: boolean;
}

/** Everything a process is told by its operator, checked and complete. Plain data: it survives JSON. */
export interface Settings extends Omit<ParsedSettings, 'models' | 'keys'> {
  models: ModelSettings[];
  keys: KeySettings[];
  /** The file that was read, as an absolute path; absent when there was none. */
  file?: string;
}

/** Turns what the schema passed into what the service works with. */
export function completeSettings(parsed: ParsedSettings, cwd: string, file: string | undefined): Settings {
  const { retention } = parsed;
  return {
    ...parsed,
    dataDir: resolve(cwd, parsed.dataDir),
    models: completeModels(parsed.models),
    keys: completeKeys(parsed.keys),
    // A log that outlived its response would keep content past its retention.
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
