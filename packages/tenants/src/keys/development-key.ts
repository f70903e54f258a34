import {
  ConfigError,
  defaultTiers,
  defaultWeight,
  findService,
  hashKey,
  isLoopback,
  keepSecret,
  type KeptSecret,
  type KeySettings,
  readSecret,
  type SecretKind,
  type Settings,
  type SettingsSources,
} from '@sluice/config';
import { constantLimits } from '@sluice/contract/tenant-limits';
import type { StoredKey } from '../stored/stored-key.ts';
import { createKey, wellFormedKey } from './api-keys.ts';

/** The development key: the plain key for the banner, and its entry for the key ring. */
export interface DevelopmentKey extends KeptSecret {
  settings: KeySettings;
}

const requestsPerMinute = 600;

const kind: SecretKind = {
  file: 'development-key',
  make: () => createKey('sk-sluice-dev-'),
  isWellFormed: wellFormedKey,
  otherwise: 'configure a key',
};

/** The key of a service without configured keys, which it makes once and keeps; see `keepSecret`. */
export async function developmentKey(dataDir: string): Promise<DevelopmentKey> {
  const kept = await keepSecret(dataDir, kind);
  return { ...kept, settings: settingsOf(kept.plain) };
}

/** The key that a service keeps in its data folder; undefined if there is none yet. Throws like `developmentKey`. */
export function readDevelopmentKey(dataDir: string): Promise<string | undefined> {
  return readSecret(dataDir, kind);
}

/**
 * Finds the development key of the service that these sources configure. Undefined when the file of the service has keys, or the
 * service has never started. Whether the key was revoked is known to the service alone. Creates nothing.
 *
 * @throws {ConfigError} when the flags, the file or the data folder in it cannot be read, or the key is damaged.
 */
export async function findDevelopmentKey(sources: SettingsSources): Promise<string | undefined> {
  const { dataDir, hasKeysInFile } = findService(sources);
  return hasKeysInFile ? undefined : readDevelopmentKey(dataDir);
}

/**
 * The key of a service that has none, neither in its file nor in Redis: the development key, on loopback only.
 *
 * @throws {ConfigError} when the service can be reached from elsewhere, or the development key cannot be kept.
 */
export async function keyOfKeylessService({
  server,
  dataDir,
}: Pick<Settings, 'server' | 'dataDir'>): Promise<KeySettings> {
  if (!isLoopback(server.host)) {
    throw new ConfigError([
      {
        path: 'HOST',
        message:
          'is not a loopback address and there is no key; add `keys` to the file, make one with `sluice keys create`, or listen on 127.0.0.1',
      },
    ]);
  }
  return (await developmentKey(dataDir)).settings;
}

/** The id under which the development key is listed, and its revocation stored. */
export const developmentKeyId = 'key_development';

/**
 * Whether a service takes a development key unless that is revoked: only this machine reaches it, and its file has no keys.
 * Stored keys make no difference.
 */
export function mayTakeDevelopmentKey({ keys, server }: Pick<Settings, 'keys' | 'server'>): boolean {
  return keys.length === 0 && isLoopback(server.host);
}

/** When the development key was revoked, in ISO 8601; undefined while it is not. */
export function developmentKeyRevokedAt(stored: readonly StoredKey[]): string | undefined {
  return stored.find(({ id }) => id === developmentKeyId)?.revokedAt;
}

/**
 * The development key that a service takes; undefined if it takes none, or has never started. Creates nothing.
 *
 * @throws {ConfigError} when the key is damaged or cannot be read.
 */
export async function developmentKeyInEffect(
  settings: Pick<Settings, 'keys' | 'server' | 'dataDir'>,
  stored: readonly StoredKey[],
): Promise<KeySettings | undefined> {
  if (!mayTakeDevelopmentKey(settings) || developmentKeyRevokedAt(stored) !== undefined) return undefined;
  const plain = await readDevelopmentKey(settings.dataDir);
  return plain === undefined ? undefined : settingsOf(plain);
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
    // No key has this hash: all that are given out are longer.
    hash: `sha256:${hashKey('development')}`,
    last4: '----',
    models: ['*'],
    tiers: [...defaultTiers],
    limits: {},
    createdAt: at,
    revokedAt: at,
  };
}

function settingsOf(plain: string): KeySettings {
  return {
    name: 'development',
    hash: hashKey(plain),
    models: ['*'],
    tiers: [...defaultTiers],
    weight: defaultWeight,
    limits: { ...constantLimits, requestsPerMinute },
    disabled: false,
  };
}
