import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const page = readFileSync(`${root}/docs/budgets.md`, 'utf8');
const files = globSync('{apps,packages}/*/{src,test}/**/*.{ts,lua}', { cwd: root });

/** The cells of each row of the tables. */
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.split('|').slice(1, -1))
  .filter((cells) => cells.length === 5 && !cells[0]?.includes('---') && !cells[0]?.startsWith(' what  '));

const quoted = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

it('every budget names a file that counts it and a test that meets it', () => {
  expect(rows.length).toBeGreaterThan(20);
  for (const [what = '', , , counted, tests] of rows) {
    const sources = quoted(counted).filter((name) => name.includes('/'));
    const missing = sources.filter((source) => !files.some((file) => isAt(file, source)));
    expect({ what, missing }).toEqual({ what, missing: [] });
    const untested = quoted(tests).filter(
      (test) => !files.some((file) => basename(file) === `${test}.test.ts`),
    );
    expect({ what, untested }).toEqual({ what, untested: [] });
    expect(quoted(tests)).not.toEqual([]);
  }
});

/** A source stands in the page without `apps/` or `packages/`, and may be a folder or all files of a kind. */
function isAt(file: string, source: string): boolean {
  return file.replace(/^[^/]+\//, '').startsWith(source.replace(/\*.*$/, ''));
}
