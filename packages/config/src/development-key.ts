import { randomUUID } from 'node:crypto';
import { chmod, link, mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createKey, hashKey, wellFormedKey } from './api-keys.ts';
import { ConfigError } from './config-error.ts';
import { defaultReadsPerMinute, defaultTiers, defaultWeight } from './key-schema.ts';
import type { KeySettings } from './settings.ts';

/** The key for trying the service, in plain for the banner and as an entry for the key ring. */
export interface DevelopmentKey {
  plain: string;
  settings: KeySettings;
  /** The file that keeps it. */
  path: string;
  /** Whether this call made it. */
  isNew: boolean;
}

const requestsPerMinute = 600;

/**
 * The key of a service without configured keys: made by the first process that asks, kept in
 * `development-key` of the data folder for its owner alone, the same for everybody after.
 *
 * Processes that ask at once agree, because the file appears under its name with its content or not at all;
 * one that dies on the way leaves at most an unnamed draft. Throws `ConfigError` when the folder cannot be
 * used or the file holds something else.
 */
export async function developmentKey(dataDir: string): Promise<DevelopmentKey> {
  const path = join(dataDir, 'development-key');
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const isNew = (await readKey(path)) === undefined && (await writeKey(path, dataDir));
    const plain = await readKey(path);
    if (plain === undefined || !wellFormedKey(plain)) {
      throw fault(path, 'holds no development key; remove it to have a new one');
    }
    await hideFromOthers(path);
    return { plain, settings: settingsOf(plain), path, isNew };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw fault(
      path,
      `cannot be kept (${codeOf(error) ?? 'unknown error'}); change DATA_DIR or configure a key`,
    );
  }
}

async function readKey(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Writes a draft and links it to the name, which fails when the name is taken; false then. Creating the file
 * under its name would show an empty file to the others, and renaming would replace a key already handed out.
 */
async function writeKey(path: string, dataDir: string): Promise<boolean> {
  const draft = join(dataDir, `.development-key-${randomUUID()}`);
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(`${createKey('sk-sluice-dev-')}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Takes back rights that others have on the file, after a copy for example. Windows has no such rights. */
async function hideFromOthers(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0) await chmod(path, 0o600);
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

function fault(path: string, message: string): ConfigError {
  return new ConfigError([{ path, message }]);
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
