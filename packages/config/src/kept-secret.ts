import { randomUUID } from 'node:crypto';
import { chmod, link, mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from './config-error.ts';

/** A secret that a service without a configured one makes for itself, and keeps in a file of its data folder. */
export interface SecretKind {
  /** The name of the file, and of the secret in messages. */
  file: string;
  make: () => string;
  isWellFormed: (plain: string) => boolean;
  /** The advice for an operator when the file cannot be kept, after `change DATA_DIR or`. */
  otherwise: string;
}

export interface KeptSecret {
  plain: string;
  /** The file that holds it. */
  path: string;
  /** Whether this call created it. */
  isNew: boolean;
}

/**
 * The secret of this kind. The first process creates it in the data folder, readable by its owner alone. Every later process
 * reads it from there.
 *
 * Processes that start at the same time get the same secret, because the file appears under its name complete or not at
 * all. A process that dies on the way leaves at most a draft under another name. Throws `ConfigError` when the folder
 * cannot be used or the file holds something else.
 */
export async function keepSecret(dataDir: string, kind: SecretKind): Promise<KeptSecret> {
  const path = join(dataDir, kind.file);
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const isNew = (await readText(path)) === undefined && (await write(path, dataDir, kind));
    const plain = wellFormed(await readText(path), path, kind);
    await hideFromOthers(path);
    return { plain, path, isNew };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw fault(
      path,
      `cannot be kept (${codeOf(error) ?? 'unknown error'}); change DATA_DIR or ${kind.otherwise}`,
    );
  }
}

/** The secret that is kept; undefined if there is none yet. Throws like `keepSecret`. */
export async function readSecret(dataDir: string, kind: SecretKind): Promise<string | undefined> {
  const path = join(dataDir, kind.file);
  let plain: string | undefined;
  try {
    plain = await readText(path);
  } catch (error) {
    throw fault(path, `cannot be read (${codeOf(error) ?? 'unknown error'}); give a key instead`);
  }
  return plain === undefined ? undefined : wellFormed(plain, path, kind);
}

function wellFormed(plain: string | undefined, path: string, { file, isWellFormed }: SecretKind): string {
  if (plain !== undefined && isWellFormed(plain)) return plain;
  throw fault(path, `holds no ${file.replaceAll('-', ' ')}; remove it to have a new one`);
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Writes a draft and links it to the final name. Returns false if the name is taken. Creating the file under its name
 * would show other processes an empty file, and renaming would replace a secret that is already in use.
 */
async function write(path: string, dataDir: string, { file: name, make }: SecretKind): Promise<boolean> {
  const draft = join(dataDir, `.${name}-${randomUUID()}`);
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(`${make()}\n`);
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

function fault(path: string, message: string): ConfigError {
  return new ConfigError([{ path, message }]);
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
