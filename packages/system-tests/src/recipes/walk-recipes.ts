import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { copiedSources, patched, workspace } from '@sluice/testing';
import { type Recipe, recipes } from './recipes.ts';

const run = promisify(execFile);

/** The files that a recipe changes or adds, each once. */
export function filesOf({ patches, inWords = [], added = {} }: Recipe): string[] {
  const changed = [...patches, ...inWords].map(({ file }) => file);
  return [...new Set([...changed, ...Object.keys(added)])];
}

/**
 * Follows all recipes in one copy of the sources, compiles it, and runs the proof of each.
 *
 * @throws when the copy does not compile, or something does not follow by itself.
 */
export async function walkRecipes(say: (said: string) => void): Promise<void> {
  await using copy = await copiedSources();
  for (const { patches, inWords = [], added = {} } of recipes) {
    for (const patch of [...patches, ...inWords]) {
      await writeFile(join(copy.root, patch.file), await patched(patch, copy.root));
    }
    for (const [file, content] of Object.entries(added)) {
      await mkdir(dirname(join(copy.root, file)), { recursive: true });
      await writeFile(join(copy.root, file), content);
    }
  }
  say('compiling');
  const faults = await compile(copy.root);
  if (faults.length > 0) throw new Error(`The recipes leave something out:\n${faults.join('\n')}`);
  for (const { toAdd, proof } of recipes) {
    say(toAdd);
    const file = join(copy.root, 'proof.mts');
    await writeFile(file, `import assert from 'node:assert/strict';\n${proof}`);
    await inCopy(copy.root, ['--conditions=sluice-source', file]);
  }
}

/** Compiles the copy. Returns the errors, but for those in tests, which are expected to follow a change. */
async function compile(root: string): Promise<string[]> {
  const compiler = join(workspace, 'node_modules', 'typescript', 'bin', 'tsc');
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile(process.execPath, [compiler, '-b', '--pretty', 'false'], { cwd: root }, (_error, stdout) =>
    resolve(stdout),
  );
  const lines = (await promise).split('\n');
  return lines.filter((line) => /: error TS/.test(line) && !/\.test\.tsx?\(|\/test\//.test(line));
}

async function inCopy(root: string, args: readonly string[]): Promise<void> {
  try {
    await run(process.execPath, args, { cwd: root });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }; // of `execFile`
    throw new Error(`${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error });
  }
}
