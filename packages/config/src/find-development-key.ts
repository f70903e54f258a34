import { resolve } from 'node:path';
import { readCommandLine } from './command-line.ts';
import { ConfigError } from './config-error.ts';
import { readDevelopmentKey } from './development-key.ts';
import type { SettingsSources } from './load-settings.ts';
import { valueAt } from './schema-node.ts';
import { readSettingsFile, readTextFile } from './settings-file.ts';
import { gatherInput } from './settings-input.ts';
import { settingsSchema } from './settings-schema.ts';

/**
 * Finds the development key of the service that these sources configure. Undefined when the service has keys of its
 * own, or has never started. Creates nothing.
 *
 * Reads the data folder from the flags, the environment and the file like `loadSettings`, and leaves every other
 * setting unchecked: whoever asks may not have the environment of the service, with the secrets that its file names.
 *
 * @throws {ConfigError} when the flags, the file or the data folder in it cannot be read, or the key is damaged.
 */
export async function findDevelopmentKey({
  env,
  argv,
  cwd,
  role = 'start',
  readFile = readTextFile,
}: SettingsSources): Promise<string | undefined> {
  const { values: flags, problems } = readCommandLine(argv, role);
  const file = readSettingsFile({ env, flags, cwd, readFile });
  problems.push(...file.problems);
  if (problems.length > 0) throw new ConfigError(problems);

  const { data, faultyPaths, problemAt } = gatherInput({ file, env, flags, role });
  const keys = valueAt(['keys'], data);
  if (Array.isArray(keys) && keys.length > 0) return undefined;
  const dataDir = settingsSchema.shape.dataDir.safeParse(valueAt(['dataDir'], data));
  if (!dataDir.success || faultyPaths.has('dataDir')) {
    throw new ConfigError([problemAt(['dataDir'], 'does not name a folder; correct it')]);
  }
  return readDevelopmentKey(resolve(cwd, dataDir.data));
}
