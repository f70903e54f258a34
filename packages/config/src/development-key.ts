import { randomUUID } from 'node:crypto';
import { chmod, link, mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createKey, hashKey, wellFormedKey } from './api-keys.ts';
import { ConfigError } from './config-error.ts';
import { defaultReadsPerMinute, defaultTiers, defaultWeight } from './key-schema.ts';
import type { KeySettings } from './settings.ts';

/** The development key: the plain key for the banner, and its entry for the key ring. */
export interface DevelopmentKey {
  plain: string;
  settings: KeySettings;
  /** The file that holds it. */
  path: string;
  /** Whether this call created it. */
  isNew: boolean;
}

const requestsPerMinute = 600;

/**
 * The key of a service without configured keys. The first process creates it in the file `development-key` of the data
 * folder, readable by its owner alone. Every later process reads it from there.
 *
 * Processes that start at the same time get the same key, because the file appears under its name complete or not at
 * all. A process that dies on the way leaves at most a draft under another name. Throws `ConfigError` when the folder
 * cannot be used or the file holds something else.
 */
export async function developmentKey(dataDir: string): Promise<DevelopmentKey> {
  const path = pathIn(dataDir);
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const isNew = (await readKey(path)) === undefined && (await writeKey(path, dataDir));
    const plain = wellFormed(await readKey(path), path);
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

/** The key that a service keeps in its data folder; undefined if there is none yet. Throws like `developmentKey`. */
export async function readDevelopmentKey(dataDir: string): Promise<string | undefined> {
  const path = pathIn(dataDir);
  let plain: string | undefined;
  try {
    plain = await readKey(path);
  } catch (error) {
    throw fault(path, `cannot be read (${codeOf(error) ?? 'unknown error'}); give a key instead`);
  }
  return plain === undefined ? undefined : wellFormed(plain, path);
}

function pathIn(dataDir: string): string {
  return join(dataDir, 'development-key');
}

function wellFormed(plain: string | undefined, path: string): string {
  if (plain !== undefined && wellFormedKey(plain)) return plain;
  throw fault(path, 'holds no development key; remove it to have a new one');
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
 * Writes a draft and links it to the final name. Returns false if the name is taken. Creating the file under its name
 * would show other processes an empty file, and renaming would replace a key that is already in use.
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

/** Removes permissions of others, which a copied file may have. Windows has no such permissions. */
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
