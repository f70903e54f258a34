import { findService, readVariable, type SettingsSources } from '@sluice/config';
import { findRunningService } from './running-service.ts';

/**
 * The address of the service that a client's command is for, unless a flag names it: `SLUICE_URL`, else the port in `PORT`, else
 * the service that runs with the same data folder, else the port of the settings file, which is 3000 by default.
 *
 * @throws {ConfigError} when the settings file cannot be read.
 */
export function serviceUrl(sources: SettingsSources): string {
  return readVariable(sources.env, 'SLUICE_URL') ?? urlOnThisMachine(sources, 'url', 'PORT');
}

/** The same of its admin listener, whose port is in `ADMIN_PORT` and by default 3001. */
export function adminUrl(sources: SettingsSources): string {
  return urlOnThisMachine(sources, 'adminUrl', 'ADMIN_PORT');
}

function urlOnThisMachine(
  sources: SettingsSources,
  listener: 'url' | 'adminUrl',
  portVariable: string,
): string {
  const service = findService(sources);
  if (Number(readVariable(sources.env, portVariable) ?? '0') > 0) return service[listener];
  const running = findRunningService(service.dataDir);
  return running?.kind === 'running' ? running[listener] : service[listener];
}
