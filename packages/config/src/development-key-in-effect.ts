import { hashKey } from './api-keys.ts';
import { findKeptDevelopmentKey } from './development-key.ts';
import { isLoopback } from './hosts.ts';
import { defaultTiers } from './key-schema.ts';
import type { KeySettings, Settings } from './settings.ts';
import type { StoredKey } from './stored-key.ts';

/** The id under which the development key is listed, and its revocation stored. */
export const developmentKeyId = 'key_development';

/**
 * Whether a service takes a development key unless that is revoked: only this machine reaches it, and its file has no keys. Keys
 * that are stored change nothing of that.
 */
export function mayTakeDevelopmentKey({ keys, server }: Pick<Settings, 'keys' | 'server'>): boolean {
  return keys.length === 0 && isLoopback(server.host);
}

/** When the development key was revoked, in ISO 8601; undefined while it is not. */
export function developmentKeyRevokedAt(stored: readonly StoredKey[]): string | undefined {
  return stored.find(({ id }) => id === developmentKeyId)?.revokedAt;
}

/** The development key that a service takes which has started before; undefined if it takes none. */
export async function developmentKeyInEffect(
  settings: Pick<Settings, 'keys' | 'server' | 'dataDir'>,
  stored: readonly StoredKey[],
): Promise<KeySettings | undefined> {
  const isTaken = mayTakeDevelopmentKey(settings) && developmentKeyRevokedAt(stored) === undefined;
  return isTaken ? findKeptDevelopmentKey(settings.dataDir) : undefined;
}

/** The settings of a service that takes its development key, which counts as a key of the file. */
export function withDevelopmentKey<Part extends Pick<Settings, 'keys' | 'tenants'>>(
  settings: Part,
  key: KeySettings,
): Part {
  const { name, limits } = key;
  return { ...settings, keys: [key], tenants: [...settings.tenants, { name, limits }] };
}

/**
 * What is stored when the development key is revoked: by its name, since each machine keeps one of its own. A release that does not
 * know it takes it for a key that was revoked, and takes no development key because one is stored.
 */
export function revokedDevelopmentKey(at: string): StoredKey {
  return {
    id: developmentKeyId,
    name: 'development',
    // Of no key: all that are given out are longer.
    hash: `sha256:${hashKey('development')}`,
    last4: '----',
    models: ['*'],
    tiers: [...defaultTiers],
    limits: {},
    createdAt: at,
    revokedAt: at,
  };
}
