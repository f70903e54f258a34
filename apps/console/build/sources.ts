import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The sources of the build, below the folder of the console. */
const patterns = [
  'src/**/*.{ts,tsx,css}',
  'public/**/*',
  'build/**/*.ts',
  'index.html',
  'vite.config.ts',
  'tsconfig.json',
  'package.json',
];

/** The versions of the libraries, which belong to the build, too. */
const lockFile = '../../package-lock.json';

/**
 * A digest of every file that the build is made of. It tells two sets of sources apart where the times of files do not: after a
 * checkout, a copy, or a clone.
 */
export async function digestSources(folder: string): Promise<string> {
  const files = globSync(patterns, { cwd: folder, exclude: ['**/*.test.*'], withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .concat(join(folder, lockFile))
    .toSorted();
  const digest = createHash('sha256');
  for (const file of files) {
    const content = await readFile(file).catch(ignoreMissing);
    digest.update(`${file.slice(folder.length)} ${content.length}\n`).update(content);
  }
  return digest.digest('hex');
}

/** A file that is not there, or no longer, counts as an empty one. */
function ignoreMissing(error: NodeJS.ErrnoException): Buffer {
  if (error.code === 'ENOENT') return Buffer.alloc(0);
  throw error;
}
