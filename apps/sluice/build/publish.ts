import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readRecipe, type Recipe, recipeName } from './freshness.mjs';

/**
 * Moves a bundle from where it was made to where it runs. A process that starts meanwhile gets all of the old one or all of the new
 * one, because `main.js` comes last and everything that it loads is named after its content. The files of the bundle before stay,
 * for processes that run it and have not loaded all of it; those of the bundle before that go.
 */
export async function publish(made: string, folder: string, recipe: Omit<Recipe, 'files'>): Promise<void> {
  const before = readRecipe(folder)?.files ?? [];
  const files = (await readdir(made, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(made.length + 1))
    .toSorted((a, b) => Number(a === 'main.js') - Number(b === 'main.js'));
  for (const file of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await rename(join(made, file), join(folder, file));
  }
  const kept = new Set([...files, ...before]);
  const there = await readdir(folder, { withFileTypes: true });
  const unwanted = there.filter(
    (entry) => entry.isFile() && !entry.name.startsWith('.') && !kept.has(entry.name),
  );
  await Promise.all(unwanted.map(({ name }) => rm(join(folder, name), { force: true })));
  // V8's cache of the bundle before; main.ts of the command names the folder.
  await rm(join(folder, '.compiled'), { recursive: true, force: true });
  // By renaming, because two builds may end at once.
  await writeFile(join(made, recipeName), JSON.stringify({ ...recipe, files }));
  await rename(join(made, recipeName), join(folder, recipeName));
}
