import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { digestOf } from './freshness.mjs';

const command = fileURLToPath(new URL('..', import.meta.url));
const recipe = 'dist/.recipe.json';

/** A checkout whose command and bundle say what runs. */
let root: string;
let app: string;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'sluice-run-')));
  app = join(root, 'apps/sluice');
  for (const folder of ['build', 'dist', 'src']) await mkdir(join(app, folder), { recursive: true });
  for (const file of ['run.mjs', 'build/freshness.mjs']) await cp(join(command, file), join(app, file));
  await writeFile(join(app, 'package.json'), '{ "type": "module" }');
  await writeFile(join(app, 'src/main.ts'), `console.log('the sources', ...process.argv.slice(2));`);
  await writeFile(join(app, 'dist/main.js'), `console.log('the bundle', ...process.argv.slice(2));`);
  await markAsFresh();
});

afterEach(() => rm(root, { recursive: true, force: true }));

async function markAsFresh(): Promise<void> {
  const sources = ['apps/sluice/src/main.ts'];
  await writeFile(
    join(app, recipe),
    JSON.stringify({ sources, digest: digestOf(root, sources), files: ['main.js'] }),
  );
}

/** Something to build with, which does what `code` says. */
async function installBuilder(code: string): Promise<void> {
  const library = join(root, 'node_modules/rolldown');
  await mkdir(library, { recursive: true });
  await writeFile(join(library, 'package.json'), '{ "name": "rolldown", "main": "index.js" }');
  await writeFile(join(library, 'index.js'), '');
  await writeFile(join(app, 'build/main.ts'), code);
}

const run = () =>
  execFileSync(process.execPath, [join(app, 'run.mjs'), 'start', '--port=1'], {
    encoding: 'utf8',
    stdio: 'pipe',
  }).trim();

describe('a run from a checkout', () => {
  it('is of the bundle, with the arguments of the command', () => {
    expect(run()).toBe('the bundle start --port=1');
  });

  it('is of a new bundle after a change', async () => {
    await installBuilder(
      `import { writeFileSync } from 'node:fs';
       writeFileSync(new URL('../dist/main.js', import.meta.url), "console.log('a new bundle')");`,
    );
    // A fresh bundle is not built again.
    expect(run()).toBe('the bundle start --port=1');
    await writeFile(join(app, 'src/main.ts'), '// changed');
    expect(run()).toBe('a new bundle');
  });

  it('is of the sources where nothing can build', async () => {
    await rm(join(app, recipe));
    expect(run()).toBe('the sources start --port=1');
  });

  it('is of the sources when the bundle cannot be made', async () => {
    await rm(join(app, recipe));
    await installBuilder('process.exitCode = 1;');
    expect(run()).toBe('the sources start --port=1');
  });
});
