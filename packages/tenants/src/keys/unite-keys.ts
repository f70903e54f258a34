import {
  completeTenant,
  faultOfAllowedModel,
  formatPath,
  isDiscovering,
  type KeySettings,
  type Settings,
  type TenantSettings,
} from '@sluice/config';
import type { StoredKey } from '../stored/stored-key.ts';

export interface KeysToUnite {
  settings: Pick<Settings, 'keys' | 'tenants' | 'models' | 'providers'>;
  /** In the order in which they were made: an older one wins over a newer one. */
  stored: readonly StoredKey[];
}

/** Where a stored key says other than the file or an older key. */
export interface KeyConflict {
  id: string;
  path: PropertyKey[];
  /** What is so, and what to change. */
  message: string;
}

/**
 * The keys of the file and the stored ones as one list, without those that are revoked.
 *
 * The rules of the file hold over both: keys with one name belong to one tenant and share its weight and limits. What
 * the file says of a tenant, or an older stored key where the file says nothing, wins over a stored key that says
 * otherwise. That key is still taken, with what won. A stored key that the file has, too, or that an older one repeats,
 * is left out.
 */
export function uniteKeys({ settings, stored }: KeysToUnite): {
  keys: KeySettings[];
  conflicts: KeyConflict[];
} {
  const conflicts: KeyConflict[] = [];
  const models = settings.providers.some(isDiscovering) ? undefined : settings.models.map(({ id }) => id);
  const tenants = new SaidOfTenants(settings.tenants);
  const hashes = new Set(settings.keys.map(({ hash }) => hash));
  const taken: (StoredKey & { digest: string })[] = [];
  // A revoked key stays refused, whatever is stored beside it.
  for (const { hash, revokedAt } of stored) if (revokedAt !== undefined) hashes.add(digestOf(hash));
  for (const key of stored) {
    if (key.revokedAt !== undefined) continue;
    const digest = digestOf(key.hash);
    if (hashes.has(digest)) {
      const message = 'is a key of the settings file or of another id; revoke one of the two';
      conflicts.push({ id: key.id, path: [], message });
      continue;
    }
    hashes.add(digest);
    taken.push({ ...key, digest });
    conflicts.push(...tenants.add(key));
    for (const [position, model] of key.models.entries()) {
      const message = faultOfAllowedModel(model, models);
      if (message !== undefined) conflicts.push({ id: key.id, path: ['models', position], message });
    }
  }
  const keys = settings.keys.map((key) => ({ ...key, ...tenants.complete(key.name) }));
  for (const { name, digest: hash, models: allowed, tiers, budget, expiresAt } of taken) {
    keys.push({
      name,
      hash,
      models: allowed,
      tiers,
      ...tenants.complete(name),
      ...(budget && { budget }),
      ...(expiresAt !== undefined && { expiresAt }),
      disabled: false,
    });
  }
  return { keys, conflicts };
}

/** A conflict in one line, without the id of its key. */
export function describeConflict({ path, message }: KeyConflict): string {
  return path.length === 0 ? message : `${formatPath(path)} ${message}`;
}

/** What keys say of their tenants, and which one said it first. */
class SaidOfTenants {
  readonly #tenants: Map<string, TenantSettings>;
  /** By tenant and path: the id of the stored key that said it. What the file said is not here. */
  readonly #saidBy = new Map<string, string>();

  constructor(ofFile: readonly TenantSettings[]) {
    this.#tenants = new Map(ofFile.map((tenant) => [tenant.name, tenant]));
  }

  add({ id, name, weight, limits }: StoredKey): KeyConflict[] {
    const tenant = this.#tenants.get(name);
    const conflicts: KeyConflict[] = [];
    const isNew = (path: string[], known: unknown, value: unknown): boolean => {
      if (value === undefined || known === value) return false;
      const subject = JSON.stringify([name, path]);
      if (known === undefined) {
        this.#saidBy.set(subject, id);
        return true;
      }
      const other = this.#saidBy.get(subject) ?? 'the settings file';
      const message = `differs from ${other}, which says ${JSON.stringify(known)} for "${name}"; give both one value`;
      conflicts.push({ id, path, message });
      return false;
    };
    const knownLimits = new Map(Object.entries(tenant?.limits ?? {}));
    const added = Object.entries(limits).filter(([limit, value]) =>
      isNew(['limits', limit], knownLimits.get(limit), value),
    );
    this.#tenants.set(name, {
      ...tenant,
      name,
      ...(weight !== undefined && isNew(['weight'], tenant?.weight, weight) && { weight }),
      limits: { ...tenant?.limits, ...Object.fromEntries(added) },
    });
    return conflicts;
  }

  complete(name: string): Pick<KeySettings, 'weight' | 'limits'> {
    return completeTenant(this.#tenants.get(name));
  }
}

function digestOf(hash: string): string {
  return hash.replace(/^sha256:/, '');
}
