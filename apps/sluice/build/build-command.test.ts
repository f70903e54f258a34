import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { buildCommand } from './build-command.ts';
import { isFresh, readRecipe } from './freshness.mjs';

/** Runs when a bundle has read its sources and is not published yet. */
const meanwhile = vi.hoisted(() => ({ act: undefined as (() => Promise<void>) | undefined }));
vi.mock(import('./bundle.ts'), async (importOriginal) => {
  const { bundle } = await importOriginal();
  return {
    bundle: async (options) => {
      const sources = await bundle(options);
      await meanwhile.act?.();
      return sources;
    },
  };
});

/** The top of a repository with a command of two packages, a thread and a script beside a source. */
let root: string;
let folder: string;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'sluice-bundle-')));
  folder = join(root, 'apps/sluice/dist');
  await write({
    'package-lock.json': '{}',
    'apps/sluice/package.json': '{ "type": "module" }',
    'apps/sluice/build/bundle.ts': '',
    'apps/sluice/src/main.ts': `
      const { run } = await import('./command.ts');
      console.log(await run());
      if (import.meta.main) console.log('ran as a module of its own');`,
    'apps/sluice/src/command.ts': `
      import { ask, script } from '../../../packages/store/src/index.ts';
      export const run = async (): Promise<string> => \`first \${script} \${await ask()}\`;`,
    'packages/store/package.json': '{ "type": "module" }',
    'packages/store/src/index.ts': `
      export { ask } from './ask.ts';
      export { script } from './script.ts';`,
    'packages/store/src/script.ts': `
      import { readFileSync } from 'node:fs';
      export const script = readFileSync(new URL('../src/script.lua', import.meta.url), 'utf8');`,
    'packages/store/src/script.lua': 'lua',
    'packages/store/src/ask.ts': `
      import { once } from 'node:events';
      import { Worker } from 'node:worker_threads';
      export async function ask(): Promise<string> {
        const [answer] = await once(new Worker(new URL('./answer.ts', import.meta.url)), 'message');
        return answer;
      }`,
    'packages/store/src/answer.ts': `
      import { parentPort } from 'node:worker_threads';
      parentPort?.postMessage('thread');`,
  });
});

afterEach(() => {
  meanwhile.act = undefined;
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function write(files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
}

const build = () => buildCommand(root, folder);
const run = () => execFileSync(process.execPath, [join(folder, 'main.js')], { encoding: 'utf8' }).trim();
const chunks = () =>
  readdirSync(folder).filter((file) => file.startsWith('command-') && file.endsWith('.js'));

describe('the bundle of the command', () => {
  it('is in ASCII, and says what its sources say', async () => {
    await write({
      'apps/sluice/src/command.ts': "export const run = () => `${'é…'.replace(/…$/u, '’')} 👋`;",
    });
    await build();
    expect(run()).toBe('é’ 👋');
    const texts = chunks().map((file) => readFileSync(join(folder, file), 'utf8'));
    expect(texts.filter((text) => /[^\x00-\x7f]/.test(text))).toEqual([]);
    expect(texts.join('')).toContain(String.raw`\u2026`);
  });

  it('starts its threads, and finds the files beside its sources', async () => {
    await build();
    expect(run()).toBe('first lua thread');
  });

  it('says what it was made of', async () => {
    await build();
    expect(readRecipe(folder)?.sources).toEqual([
      'apps/sluice/src/command.ts',
      'apps/sluice/src/main.ts',
      'packages/store/src/answer.ts',
      'packages/store/src/ask.ts',
      'packages/store/src/script.ts',
    ]);
  });

  it('is fresh until a file that it is made of changes', async () => {
    expect(isFresh(root, folder)).toBe(false);
    await build();
    expect(isFresh(root, folder)).toBe(true);
    await utimes(join(root, 'apps/sluice/src/main.ts'), new Date(), new Date(Date.now() + 60_000));
    await write({ 'packages/store/src/script.lua': 'read when it runs', 'packages/store/src/other.ts': '' });
    expect(isFresh(root, folder)).toBe(true);
  });

  it.each([
    'apps/sluice/src/command.ts',
    'packages/store/src/answer.ts',
    'apps/sluice/build/bundle.ts',
    'package-lock.json',
  ])('is stale after a change of %s', async (file) => {
    await build();
    await write({ [file]: '// changed' });
    expect(isFresh(root, folder)).toBe(false);
  });

  it('is stale when a file changed while it was made', async () => {
    meanwhile.act = () => write({ 'apps/sluice/src/command.ts': `export const run = () => 'second';` });
    await build();
    expect(run()).toBe('first lua thread');
    expect(isFresh(root, folder)).toBe(false);
    meanwhile.act = undefined;
    await build();
    expect(run()).toBe('second');
    expect(isFresh(root, folder)).toBe(true);
  });

  it('takes away what builds have left that were killed, and nothing of one that is under way', async () => {
    await write({ 'apps/sluice/dist/.made-old/main.js': '', 'apps/sluice/dist/.made-new/main.js': '' });
    await utimes(join(folder, '.made-old'), new Date(), new Date(Date.now() - 3_600_000));
    await build();
    expect(readdirSync(folder).filter((file) => file.startsWith('.made-'))).toEqual(['.made-new']);
  });

  it('has maps that lead to its sources from where it stands', async () => {
    await build();
    const maps = readdirSync(folder).filter((file) => file.endsWith('.map'));
    const sources = maps.flatMap((file) => {
      const map = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { sources: string[] };
      return map.sources.map((source) => relative(root, join(folder, source)));
    });
    expect(sources).toEqual(expect.arrayContaining(readRecipe(folder)?.sources ?? []));
  });

  it('is stale when one of its files is gone', async () => {
    await build();
    await rm(join(folder, 'main.js'));
    expect(isFresh(root, folder)).toBe(false);
  });

  it('leaves the files of the bundle before for processes that run it, and no older ones', async () => {
    const change = (what: string) =>
      write({ 'apps/sluice/src/command.ts': `export const run = () => '${what}';` });
    await build();
    const [first = ''] = chunks();
    await change('second');
    await build();
    expect(chunks()).toContain(first);
    expect(run()).toBe('second');
    await change('third');
    await build();
    expect(chunks()).not.toContain(first);
    expect(run()).toBe('third');
  });

  it('leaves what stands there when it cannot be made', async () => {
    await build();
    await write({ 'apps/sluice/src/command.ts': `import './missing.ts';` });
    await expect(build()).rejects.toThrow('missing');
    expect(run()).toBe('first lua thread');
    expect(readdirSync(folder).filter((file) => file.startsWith('.made-'))).toEqual([]);
  });

  it('may be made by two processes at once', async () => {
    await Promise.all([build(), build()]);
    expect(run()).toBe('first lua thread');
    expect(isFresh(root, folder)).toBe(true);
  });

  it('forgets what was compiled of the bundle before', async () => {
    await write({ 'apps/sluice/dist/.compiled/v24/old': '' });
    await build();
    expect(existsSync(join(folder, '.compiled'))).toBe(false);
  });
});
