import { existsSync, globSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { workspace } from '@sluice/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { builtConsole } from './built-console.ts';

/** The most that a browser may load for the first page, in bytes as they are sent. */
const mostBytes = 250_000;

/** How many files it may be. A browser has six connections to a server and asks for the page over one of them. */
const mostFiles = 6;

const folder = join(workspace, 'apps/console/dist');
let document: string;

beforeAll(async () => {
  await builtConsole();
  document = await readFile(join(folder, 'index.html'), 'utf8');
});

/** The paths of the files that the document loads. A chunk names the others that it needs at once. */
function loadedPaths(): string[] {
  return [...document.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, path = '']) => path);
}

/** The bytes that are sent for a file. */
async function sentBytes(file: string, suffix: string): Promise<number> {
  const compressed = join(folder, `${file}${suffix}`);
  return (await stat(existsSync(compressed) ? compressed : join(folder, file))).size;
}

describe('the first page', () => {
  it.each(['br', 'gz'])(`loads less than ${mostBytes / 1000} kB of .%s`, async (encoding) => {
    const files = ['index.html', ...loadedPaths().map((path) => path.replace('/console/', ''))];
    const sizes = await Promise.all(files.map((file) => sentBytes(file, `.${encoding}`)));
    const bytes = sizes.reduce((sum, each) => sum + each, 0);
    console.log(`The first page: ${files.length} files, ${bytes} bytes of .${encoding}`);
    expect(bytes).toBeGreaterThan(20_000);
    expect(bytes).toBeLessThan(mostBytes);
    expect(files.length).toBeLessThanOrEqual(mostFiles);
  });
});

describe('the built console', () => {
  const texts = () =>
    Promise.all(
      globSync('**/*.{html,js,css,svg}', { cwd: folder }).map(async (file) => ({
        file,
        text: await readFile(join(folder, file), 'utf8'),
      })),
    );

  it('loads nothing from another host', async () => {
    const foreign =
      /(?:\b(?:src|srcset|href|action)\s*[=:]\s*|url\(\s*|@import\s+|\bimport\(\s*|\bfetch\(\s*|\bfrom\s*|new (?:WebSocket|EventSource|Worker|URL)\(\s*)["'`]?(?:https?:|wss?:)?\/\/[\w-]+\.[^"'`)\s]*/g;
    const found = (await texts()).flatMap(({ file, text }) =>
      [...text.matchAll(foreign)].map(([match]) => `${file}: ${match}`),
    );
    expect(found).toEqual([]);
  });

  it('has no script and no style that its policy would not allow', async () => {
    expect(document).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\ssrc=)/);
    for (const { file, text } of await texts()) {
      expect([file, /\beval\(|\bnew Function\(|url\(["']?data:(?!image)/.exec(text)?.[0]]).toEqual([
        file,
        undefined,
      ]);
    }
  });

  it('asks for nothing outside of its mount', () => {
    const paths = loadedPaths();
    expect(paths.length).toBeGreaterThan(3);
    for (const path of paths) expect(path).toMatch(/^\/console\//);
  });

  it('holds no test and no source map', async () => {
    const names = globSync('**/*', { cwd: folder });
    expect(names.filter((name) => /\.map$|test/.test(name))).toEqual([]);
    for (const { text } of await texts()) expect(text).not.toContain('sourceMappingURL');
  });
});
