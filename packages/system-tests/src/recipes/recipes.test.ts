import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { patched, workspace } from '@sluice/testing';
import { recipes } from './recipes.ts';
import { filesOf } from './walk-recipes.ts';

/** The rows of the table: what is added, and the names of files behind it. */
async function rowsOfPage(): Promise<Map<string, string[]>> {
  const page = await readFile(join(workspace, 'docs', 'changing.md'), 'utf8');
  const rows = [...page.matchAll(/^\| (an? [^|]*?) +\|([^|]*)\|/gm)];
  return new Map(
    rows.map(([, toAdd = '', edit = '']) => [
      toAdd,
      [...edit.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    ]),
  );
}

/** `.lua` names files of that kind, `api/src/routes/` those of the folder. */
function isNamed(file: string, names: readonly string[]): boolean {
  return names.some((name) => {
    if (name.startsWith('.')) return file.endsWith(name);
    return name.endsWith('/') ? file.includes(`/${name}`) : file.endsWith(`/${name}`);
  });
}

describe('the recipes of changing.md', async () => {
  const rows = await rowsOfPage();

  it('are all walked', () => {
    expect([...rows.keys()].toSorted()).toEqual(recipes.map(({ toAdd }) => toAdd).toSorted());
  });

  it.each(recipes)('$toAdd: name every file that is touched', ({ toAdd, patches, added = {} }) => {
    const touched = [...patches.map(({ file }) => file), ...Object.keys(added)];
    expect(touched.filter((file) => !isNamed(file, rows.get(toAdd) ?? []))).toEqual([]);
  });

  it.each(recipes)('$toAdd: find their places', async ({ patches, inWords = [] }) => {
    for (const patch of [...patches, ...inWords]) await expect(patched(patch)).resolves.not.toBe('');
  });

  it('need three files at most for a limit of a tenant', () => {
    const limit = recipes.find(({ toAdd }) => toAdd === 'a limit of a tenant');
    expect(limit && filesOf(limit).length).toBeLessThanOrEqual(3);
  });
});
