import { ConfigError } from './config-error.ts';
import { developmentKey } from './development-key.ts';
import { isLoopback } from './hosts.ts';
import type { KeySettings, Settings } from './settings.ts';

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
