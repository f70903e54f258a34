import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { build, type BuildOptions, type BuildResult, buildWhenStale } from './build-console.ts';
import { takeLock } from './build-lock.ts';

let root: string;
let folder: string;
/** How many builds were made. */
let builds: number;

beforeEach(async () => {
  root = join(await mkdtemp(join(tmpdir(), 'sluice-console-')), 'apps/console');
  folder = join(root, 'dist');
  builds = 0;
  await write({
    'src/main.tsx': 'first',
    'src/main.test.ts': 'a test',
    'index.html': '<html>',
    '../../package-lock.json': '{}',
  });
});

afterEach(() => rm(join(root, '../..'), { recursive: true, force: true }));

async function write(files: Record<string, string>, below = root): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(below, name)), { recursive: true });
    await writeFile(join(below, name), text);
  }
}

/** A build as vite makes one: a document that names a file which is named after its content. */
const made = (content: string) => ({ 'index.html': `see ${content}.js`, [`assets/${content}.js`]: content });

const options = (more: Partial<BuildOptions> = {}): BuildOptions => ({
  root,
  folder,
  make: async (below) => {
    builds += 1;
    await write(made(await readFile(join(root, 'src/main.tsx'), 'utf8')), below);
  },
  ...more,
});

const whenStale = (more?: Partial<BuildOptions>): Promise<BuildResult> => buildWhenStale(options(more));
const document = () => readFile(join(folder, 'index.html'), 'utf8');
const everything = async () => (await readdir(folder, { recursive: true })).toSorted();

describe('a build when it is stale', () => {
  it('is made when there is none, and not again', async () => {
    expect(await whenStale()).toBe('built');
    expect(await document()).toBe('see first.js');
    expect(await whenStale()).toBe('fresh');
    expect(builds).toBe(1);
  });

  it.each([
    'src/main.tsx',
    'src/pages/new.css',
    'index.html',
    'vite.config.ts',
    'package.json',
    '../../package-lock.json',
  ])('is made again after a change of %s', async (file) => {
    await whenStale();
    await write({ [file]: 'second' });
    expect(await whenStale()).toBe('built');
  });

  it('is made again after a file has gone', async () => {
    await whenStale();
    await rm(join(root, 'index.html'));
    expect(await whenStale()).toBe('built');
  });

  it('is left alone after a change of what is not in it, and of nothing but times', async () => {
    await whenStale();
    await write({ 'src/main.test.ts': 'another test' });
    await utimes(join(root, 'src/main.tsx'), new Date(), new Date(Date.now() + 60_000));
    expect(await whenStale()).toBe('fresh');
  });

  it('is made again when the sources changed while it was made', async () => {
    const make = async (below: string) => {
      await options().make(below);
      await write({ 'src/main.tsx': 'second' });
    };
    expect(await whenStale({ make })).toBe('built');
    expect(await whenStale()).toBe('built');
    expect(await document()).toBe('see second.js');
  });

  it('takes the place of the one before, of which nothing is left', async () => {
    await whenStale();
    await write({ 'src/main.tsx': 'second' });
    await whenStale();
    expect(await everything()).toEqual(['.sources', 'assets', 'assets/second.js', 'index.html']);
  });

  it('never shows a document before what it names', async () => {
    await whenStale();
    await write({ 'src/main.tsx': 'second' });
    const watch = new AbortController();
    const seen = (async () => {
      const broken: string[] = [];
      while (!watch.signal.aborted) {
        const name = (await document()).slice('see '.length);
        const isThere = existsSync(join(folder, 'assets', name));
        // The document may have changed since it was read.
        if (!isThere && (await document()).endsWith(name)) broken.push(name);
      }
      return broken;
    })();
    await whenStale();
    watch.abort();
    expect(await seen).toEqual([]);
  });
});

describe('a build that fails or is given up', () => {
  const failing = async (below: string) => {
    await write(made('broken'), below);
    throw new Error('no');
  };

  it('leaves what stood there, and is tried again', async () => {
    await whenStale();
    const before = await everything();
    await write({ 'src/main.tsx': 'second' });
    await expect(whenStale({ make: failing })).rejects.toThrow('no');
    expect(await everything()).toEqual(before);
    expect(await whenStale()).toBe('built');
  });

  it('ends at once when it is aborted', async () => {
    const stop = new AbortController();
    const begun = Promise.withResolvers<void>();
    const running = whenStale({
      make: () => new Promise(() => begun.resolve()),
      signal: stop.signal,
    });
    await begun.promise;
    stop.abort(new Error('given up'));
    await expect(running).rejects.toThrow('given up');
    expect(await everything()).toEqual([]);
  });
});

describe('two builds at once', () => {
  it('are one, and the other goes away', async () => {
    const results = await Promise.all([whenStale(), whenStale(), whenStale()]);
    expect(results.toSorted()).toEqual(['built', 'elsewhere', 'elsewhere']);
    expect(builds).toBe(1);
    expect(await document()).toBe('see first.js');
  });

  it('are two when the process of the first has died', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    await once(child, 'exit');
    await write({ '.building': String(child.pid), '.made-left/assets/half.js': '' }, folder);
    expect(await whenStale()).toBe('built');
    expect(await everything()).toEqual(['.sources', 'assets', 'assets/first.js', 'index.html']);
  });

  it('are two when the lock is older than a build can be', async () => {
    await write({ '.building': String(process.pid) }, folder);
    expect(await whenStale()).toBe('elsewhere');
    await utimes(join(folder, '.building'), new Date(0), new Date(0));
    expect(await whenStale()).toBe('built');
  });

  it('wait for nothing once the lock is given back', async () => {
    const release = await takeLock(folder);
    expect(await build(options())).toBe('elsewhere');
    await release?.();
    expect(await build(options())).toBe('built');
  });
});
