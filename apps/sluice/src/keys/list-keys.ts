import { developmentKeyId, type KeysOfService, stateOfKey } from '@sluice/tenants';
import { tableText } from '../table.ts';

/** A key as `sluice keys list --json` prints it. */
interface ListedKey {
  /** `file:` and its place there, for a key of the file. */
  id: string;
  source: 'file' | 'development' | 'stored';
  tenant: string;
  /** Unknown for a key of the file, because only its hash is kept. */
  last_4: string | null;
  models: readonly string[];
  tiers: readonly string[];
  weight: number;
  limits: object;
  created_at: string | null;
  expires_at: string | null;
  revoked_at: string | null;
  replaced_by: string | null;
  state: 'active' | 'expired' | 'revoked' | 'disabled';
}

/**
 * Every key of the service, those of the file first, with the settings in effect for its tenant. The development key takes
 * the place of those of the file.
 */
export function listKeys({ settings, hasDevelopmentKey, stored, keys }: KeysOfService): ListedKey[] {
  const { now } = stored;
  const ofFile = keys.slice(0, settings.keys.length).map(
    ({ name, models, tiers, weight, limits, expiresAt, disabled }, at): ListedKey => ({
      id: hasDevelopmentKey ? developmentKeyId : `file:${at}`,
      source: hasDevelopmentKey ? 'development' : 'file',
      tenant: name,
      last_4: null,
      models,
      tiers,
      weight,
      limits,
      created_at: null,
      expires_at: expiresAt ?? null,
      revoked_at: null,
      replaced_by: null,
      state: disabled ? 'disabled' : stateOfKey(expiresAt === undefined ? {} : { expiresAt }, now),
    }),
  );
  const ofTenant = new Map(keys.map(({ name, weight, limits }) => [name, { weight, limits }]));
  return [
    ...ofFile,
    ...stored.keys.map((key): ListedKey => {
      const { id, name, last4, models, tiers, createdAt, expiresAt, revokedAt, replacedBy } = key;
      const tenant = ofTenant.get(name) ?? { weight: key.weight ?? 1, limits: key.limits };
      return {
        id,
        source: 'stored',
        tenant: name,
        last_4: last4,
        models,
        tiers,
        ...tenant,
        created_at: createdAt,
        expires_at: expiresAt ?? null,
        revoked_at: revokedAt ?? null,
        replaced_by: replacedBy ?? null,
        state: stateOfKey(key, now),
      };
    }),
  ];
}

/** The keys as a table, one line for each. */
export function tableOf(keys: readonly ListedKey[]): string {
  return tableText([
    ['id', 'tenant', 'last 4', 'models', 'created', 'expires', 'state'],
    ...keys.map((key) => [
      key.id,
      key.tenant,
      key.last_4 ?? '-',
      key.models.join(','),
      shortTime(key.created_at),
      shortTime(key.expires_at),
      key.state,
    ]),
  ]);
}

/** To the minute, in UTC. */
function shortTime(time: string | null): string {
  return time === null ? '-' : `${time.slice(0, 16).replace('T', ' ')}Z`;
}
