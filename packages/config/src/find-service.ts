import { resolve } from 'node:path';
import { readCommandLine } from './command-line.ts';
import { ConfigError } from './config-error.ts';
import { isLoopback } from './hosts.ts';
import type { SettingsSources } from './load-settings.ts';
import { valueAt } from './schema-node.ts';
import { readSettingsFile, readTextFile } from './settings-file.ts';
import { gatherInput } from './settings-input.ts';
import { settingsSchema } from './settings-schema.ts';

/** Facts about a service for a client on the same machine. */
export interface ServicePlace {
  /** The settings file, as an absolute path; absent when there is none. */
  file?: string;
  /** The data folder, as an absolute path. */
  dataDir: string;
  /** Where an api listens on this machine. */
  url: string;
  /** Where its admin listener listens. */
  adminUrl: string;
  /** Whether the file has keys, so that no development key is taken. */
  hasKeysInFile: boolean;
}

/**
 * Finds the place of the service that these sources configure. Creates nothing.
 *
 * Reads the flags, the environment and the file like `loadSettings`, and leaves every other setting unchecked: the caller
 * may lack the environment of the service, with the secrets that its file names.
 *
 * @throws {ConfigError} when the flags, the file or the data folder in it cannot be read.
 */
export function findService({
  env,
  argv,
  cwd,
  role = 'start',
  readFile = readTextFile,
}: SettingsSources): ServicePlace {
  const { values: flags, problems } = readCommandLine(argv, role);
  const file = readSettingsFile({ env, flags, cwd, readFile });
  problems.push(...file.problems);
  if (problems.length > 0) throw new ConfigError(problems);

  const { data, faultyPaths, problemAt } = gatherInput({ file, env, flags, role });
  const dataDir = settingsSchema.shape.dataDir.safeParse(valueAt(['dataDir'], data));
  if (!dataDir.success || faultyPaths.has('dataDir')) {
    throw new ConfigError([problemAt(['dataDir'], 'does not name a folder; correct it')]);
  }
  const keys = valueAt(['keys'], data);
  return {
    ...(file.name !== undefined && { file: resolve(cwd, file.name) }),
    dataDir: resolve(cwd, dataDir.data),
    url: urlOf(valueAt(['server', 'host'], data), valueAt(['server', 'port'], data), 3000),
    adminUrl: urlOf(valueAt(['server', 'adminHost'], data), valueAt(['server', 'adminPort'], data), 3001),
    hasKeysInFile: Array.isArray(keys) && keys.length > 0,
  };
}

/** A port that is no number, or is chosen when the service starts, says nothing. The default is as good a guess then. */
function urlOf(host: unknown, port: unknown, otherwise: number): string {
  const named = typeof host === 'string' && isLoopback(host) && host.includes(':') ? '[::1]' : '127.0.0.1';
  const known = Number(port);
  return `http://${named}:${Number.isInteger(known) && known > 0 && known < 65_536 ? known : otherwise}`;
}
