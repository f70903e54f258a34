import { open } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { resolve } from 'node:path';
import { type LlamaCppSettings, packageName } from './settings.ts';

/** The first bytes of every GGUF file. */
const magic = 'GGUF';

/**
 * Describes for the operator what this machine lacks for the provider; undefined when it lacks nothing. `name` is the name of
 * the package.
 */
export async function missingOnThisMachine(
  { id, modelPath, library }: LlamaCppSettings,
  name = packageName,
): Promise<string | undefined> {
  if (library === undefined && !isInstalled(name)) {
    return `Provider '${id}' needs the package ${name}, which is not installed: run \`npm install ${name}\`.`;
  }
  const path = resolve(modelPath);
  const fault = await faultOfFile(path);
  return fault === undefined
    ? undefined
    : `Provider '${id}' cannot use ${path}: ${fault}. Correct \`modelPath\`.`;
}

/** Whether there is such a package where the process of a model would find it. */
export function isInstalled(name = packageName): boolean {
  try {
    return findPackageJSON(name, import.meta.url) !== undefined;
  } catch {
    return false;
  }
}

async function faultOfFile(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path);
    const { buffer } = await file.read(Buffer.alloc(magic.length), 0, magic.length, 0);
    return buffer.toString('latin1') === magic ? undefined : 'it is not a GGUF file';
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${String(code)})`;
  }
}
