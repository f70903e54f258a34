// JavaScript, because each start of the command from a checkout asks whether its bundle is fresh, and a Node.js that loads TypeScript
// needs 30 MB more for it.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The sources that a bundle was made of.
 *
 * @typedef {object} Recipe
 * @property {string[]} sources The files of the repository, relative to its top.
 * @property {string} digest The result of `digestOf` for them.
 * @property {string[]} files The files of the bundle, relative to its folder.
 */

/** The file of a bundle that tells what it was made of. It is written last. */
const recipeName = '.recipe.json';

/**
 * The recipe of the bundle in a folder; undefined where there is no complete one.
 *
 * @param {string} folder
 * @returns {Recipe | undefined}
 */
export function readRecipe(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, recipeName), 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Whether the bundle in a folder was made of the sources as they are now, and is whole.
 *
 * @param {string} root The top of the repository.
 * @param {string} folder
 */
export function isFresh(root, folder) {
  const recipe = readRecipe(folder);
  return (
    recipe !== undefined &&
    recipe.digest === digestOf(root, recipe.sources) &&
    recipe.files.every((file) => existsSync(join(folder, file)))
  );
}

/**
 * A digest of files, of the build itself, and of the versions of the libraries. A file that is not there counts as an
 * empty one.
 *
 * @param {string} root
 * @param {readonly string[]} sources
 */
export function digestOf(root, sources) {
  const digest = createHash('sha256');
  for (const file of [...sources, 'apps/sluice/build/bundle.ts', 'package-lock.json']) {
    const content = contentOf(join(root, file));
    digest.update(`${file} ${content.length}\n`).update(content);
  }
  return digest.digest('hex');
}

/** @param {string} file */
function contentOf(file) {
  try {
    return readFileSync(file);
  } catch {
    return Buffer.alloc(0);
  }
}

export { recipeName };
