import { readDevelopmentKey } from './development-key.ts';
import { findService } from './find-service.ts';
import type { SettingsSources } from './load-settings.ts';

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
