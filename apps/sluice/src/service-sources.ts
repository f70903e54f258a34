import {
  type Environment,
  findService,
  loadSettings,
  readVariable,
  type ServicePlace,
  type Settings,
  type SettingsSources,
} from '@sluice/config';
import { findRunningService } from './running-service.ts';

/** The flags by which a command finds its service, as `parseFlags` has them. */
export interface ServiceValues {
  config?: string | undefined;
  'data-dir'?: string | undefined;
}

/** Where a command runs. */
export interface Surroundings {
  env: Environment;
  cwd: string;
}

/**
 * The settings of the service that a command is for. Where no file is named or found, the file is that of the service that
 * runs with the same data folder, such as the one that `start` writes of the upstreams that it finds. Standard error says
 * so then. This environment may lack the variables of secrets in that file, but for those at `neededSecrets`: none by default.
 *
 * @throws {ConfigError} like `loadSettings`, also when this environment lacks any other variable that the file of the service names.
 */
export function loadServiceSettings(
  values: ServiceValues,
  surroundings: Surroundings,
  { neededSecrets = [] }: { neededSecrets?: readonly string[] | 'all' } = {},
): Settings {
  const given = givenSources(values, surroundings);
  const settings = loadSettings(given);
  const sources = withFileOfRunningService(given, settings);
  if (sources === given) return settings;
  const loaded = loadSettings(neededSecrets === 'all' ? sources : { ...sources, neededSecrets });
  console.error(
    `sluice: using ${loaded.file}, the settings file of the service that runs with ${settings.dataDir}`,
  );
  return loaded;
}

/**
 * The sources of these settings, for a client, which may lack the environment of the service.
 *
 * @throws {ConfigError} when the flags, the file or the data folder in it cannot be read.
 */
export function serviceSources(values: ServiceValues, surroundings: Surroundings): SettingsSources {
  const given = givenSources(values, surroundings);
  return withFileOfRunningService(given, findService(given));
}

function givenSources(
  { config, 'data-dir': dataDir }: ServiceValues,
  { env, cwd }: Surroundings,
): SettingsSources {
  const argv = [
    ...(config === undefined ? [] : [`--config=${config}`]),
    ...(dataDir === undefined ? [] : [`--data-dir=${dataDir}`]),
  ];
  return { env, cwd, argv };
}

/** Returns the sources as they are where they have a file, or no service that was started with one runs there. */
function withFileOfRunningService(
  sources: SettingsSources,
  { file, dataDir }: Pick<ServicePlace, 'file' | 'dataDir'>,
): SettingsSources {
  if (file !== undefined) return sources;
  const running = findRunningService(dataDir);
  if (running?.kind !== 'running' || running.settingsFile === undefined) return sources;
  // The command is for another service then.
  const store = readVariable(sources.env, 'REDIS_URL');
  if (store !== undefined && store !== running.store) return sources;
  // A relative folder in that file is one beside the service, and not beside this command.
  const env = { ...sources.env, SLUICE_CONFIG: running.settingsFile, DATA_DIR: dataDir };
  return { ...sources, env };
}
