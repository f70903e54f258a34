import { developmentKeyInEffect, type Settings, type StoredKey, withDevelopmentKey } from '@sluice/config';

/** The settings with the keys that a service takes for keys of its file: the development key too, where it is in effect. */
export async function settingsInEffect(settings: Settings, stored: readonly StoredKey[]): Promise<Settings> {
  const development = await developmentKeyInEffect(settings, stored);
  return development === undefined ? settings : withDevelopmentKey(settings, development);
}
