import { findService, readVariable, type SettingsSources } from '@sluice/config';
import { findRunningService } from './running-service.ts';

/**
 * The address of the service that a client's command is for, unless a flag names it: `SLUICE_URL`, else the port in `PORT`, else
 * the service that runs with the same data folder, else the port of the settings file, which is 3000 by default.
 *
 * @throws {ConfigError} when the settings file cannot be read.
 */
export function serviceUrl(sources: SettingsSources): string {
  const { env } = sources;
  const named = readVariable(env, 'SLUICE_URL');
  if (named !== undefined) return named;
  const { dataDir, url } = findService(sources);
  if (Number(readVariable(env, 'PORT') ?? '0') > 0) return url;
  const running = findRunningService(dataDir);
  return running?.kind === 'running' ? running.url : url;
}
