import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { FatalError } from '@sluice/runtime';

/** Reads an entry of a section of the settings file, as JSON in a file of its own. */
export async function readMembers(
  file: string,
  { cwd, section }: { cwd: string; section: 'models' | 'providers' },
): Promise<object> {
  try {
    const value: unknown = JSON.parse(await readFile(resolve(cwd, file), 'utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch (error) {
    throw new FatalError(
      `--file: ${file} cannot be read as JSON: ${error instanceof Error ? error.message : 'no file'}`,
    );
  }
  throw new FatalError(
    `--file: ${file} is not an object, as an entry of \`${section}\` in the settings file is`,
  );
}
