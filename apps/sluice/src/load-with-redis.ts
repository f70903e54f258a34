import type { Settings } from '@sluice/config';
import { FatalError, maskRedisUrl } from '@sluice/runtime';
import { findRunningService } from './running-service.ts';
import { loadServiceSettings, type ServiceValues, type Surroundings } from './service-sources.ts';

/** For `parseFlags`: the flags by which an operator's command finds its service. */
export const serviceFlags = { config: { type: 'string' }, 'data-dir': { type: 'string' } } as const;

/** The same flags as lines of text, for `--help`. */
export const serviceFlagsUsage = `  --config FILE   the settings file of the service [SLUICE_CONFIG, ./sluice.yaml, the one it runs on]
  --data-dir DIR  the data folder of the service [DATA_DIR, the one of its file, ./.data]`;

/**
 * The settings of the service that an operator's command is for (`loadServiceSettings`), with the address of its Redis: the
 * one that is set, else that of the service that runs with the same data folder. Standard error says so then.
 *
 * @throws {FatalError} when neither says where Redis is; {ConfigError} for settings that cannot be used.
 */
export function loadWithRedis(
  values: ServiceValues,
  surroundings: Surroundings,
): Settings & { redisUrl: string } {
  const settings = loadServiceSettings(values, surroundings);
  return { ...settings, redisUrl: settings.redisUrl ?? storeOfRunningService(settings.dataDir) };
}

function storeOfRunningService(dataDir: string): string {
  const found = findRunningService(dataDir);
  switch (found?.kind) {
    case 'running':
      console.error(
        `sluice: using ${maskRedisUrl(found.store)}, the store of the service that runs with ${dataDir} (process ${found.pid})`,
      );
      return found.store;
    case 'ended':
      throw new FatalError(
        `The service that ran with ${dataDir} (process ${found.pid}) has ended: start it again, or name its Redis in REDIS_URL.`,
      );
    case undefined:
      throw new FatalError(
        `REDIS_URL is not set, and no service runs with ${dataDir}: start one with 'sluice start', name its data folder with --data-dir, or name its Redis in REDIS_URL.`,
      );
  }
}
