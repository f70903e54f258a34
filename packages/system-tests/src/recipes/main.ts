import { recipes } from './recipes.ts';
import { filesOf, walkRecipes } from './walk-recipes.ts';

/*
 * Follows each recipe of `docs/changing.md` in a copy of the sources, compiles it, and proves what the page says follows by
 * itself. Prints how many files each took.
 */
const say = (said: string) => {
  if (process.stdout.isTTY) process.stdout.write(`\r\u001B[K${said}`);
};
try {
  await walkRecipes(say);
  say('');
  for (const recipe of recipes) process.stdout.write(`${filesOf(recipe).length} files\t${recipe.toAdd}\n`);
} catch (error) {
  say('');
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
