import { createKey, hashKey, wellFormedKey } from './api-keys.ts';
import { keepSecret, type KeptSecret, readSecret, type SecretKind } from './kept-secret.ts';
import { defaultReadsPerMinute, defaultTiers, defaultWeight } from './key-schema.ts';
import type { KeySettings } from './settings.ts';

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

/** The same as an entry for the key ring. Throws like `developmentKey`. */
export async function findKeptDevelopmentKey(dataDir: string): Promise<KeySettings | undefined> {
  const plain = await readDevelopmentKey(dataDir);
  return plain === undefined ? undefined : settingsOf(plain);
}

function settingsOf(plain: string): KeySettings {
  return {
    name: 'development',
    hash: hashKey(plain),
    models: ['*'],
    tiers: [...defaultTiers],
    weight: defaultWeight,
    limits: { requestsPerMinute, readsPerMinute: defaultReadsPerMinute },
    disabled: false,
  };
}
