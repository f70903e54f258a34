import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { forAllTests, eventually, within } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { descendantsOf, stillRunning } from './process-tree.ts';
import { testService } from './service.ts';
import { bareEnvironment, startProcess } from './sluice-process.ts';

// The examples of the README run here unchanged. Only the address and the key come from the environment.

const root = fileURLToPath(new URL('../../../', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** A page of `docs`. */
const pageOf = (name: string) => readFileSync(join(root, `docs/${name}.md`), 'utf8');

/** The fenced blocks of a language in the README, or in another page, in order. */
function blocksOf(language: string, page = readme): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, block = '']) => block,
  );
}

describe('the examples of the README', () => {
  const service = testService();

  /** Runs a program in the environment of the examples and returns its output. */
  async function run(command: string, args: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(command, args, {
      // The package `openai` is found from here.
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      env: {
        ...bareEnvironment(),
        OPENAI_BASE_URL: `${service.apiUrls[0]}/v1`,
        OPENAI_API_KEY: service.key,
      },
    });
    return stdout;
  }

  it('with curl give a whole response and a stream', async () => {
    const block = blocksOf('sh').find((each) => each.startsWith('curl')) ?? expect.unreachable();
    const output = await run('sh', ['-ec', block]);
    const streamAt = output.indexOf('event: response.created');
    expect(JSON.parse(output.slice(0, streamAt))).toMatchObject({ object: 'response', status: 'completed' });
    expect(output.slice(streamAt)).toMatch(/event: response\.completed\n[\s\S]*data: \[DONE\]\n\n$/);
  });

  it('with Node.js give the same', async () => {
    const [whole = expect.unreachable()] = blocksOf('js');
    const output = await run(process.execPath, ['--input-type=module', '--eval', whole]);
    expect(output).toContain('Hello!');
    expect(output).toContain('Hello again!');
  });

  it('are all of them', () => {
    const count = (language: string) => blocksOf(language).length;
    expect({ js: count('js'), python: count('python'), yaml: count('yaml') }).toEqual({
      js: 1,
      python: 0,
      yaml: 1,
    });
  });
});

describe('what the README says', () => {
  const folder = forAllTests(() => mkdtempDisposable(join(tmpdir(), 'sluice-readme-')));

  it('to write into the file makes a service with that model and that key', async () => {
    const keys =
      blocksOf('yaml', pageOf('deployment')).find((block) => block.startsWith('keys:')) ??
      expect.unreachable();
    await writeFile(join(folder.path, 'sluice.yaml'), blocksOf('yaml').join('') + keys);
    const process = startProcess({
      command: 'start',
      cwd: folder.path,
      env: { PORT: '0', ADMIN_PORT: '0', TEAM_A_KEY: 'sk-team-a-0123456789abcdef' },
    });
    try {
      const [banner] = await process.printed(/Sluice is ready\.[\s\S]*Ctrl-C stops it\./);
      expect(banner).toMatch(/Models +qwen3-8b\n/);
      const url = /Responses API +(http\S+)\/v1/.exec(banner)?.[1] ?? expect.unreachable();
      const models = await fetch(`${url}/v1/models`, {
        headers: { authorization: 'Bearer sk-team-a-0123456789abcdef' },
      });
      expect(await models.json()).toMatchObject({ data: [{ id: 'qwen3-8b' }] });
    } finally {
      await process.stop('SIGINT');
    }
  });

  it('of the banner is what `npm start` prints, and Ctrl-C ends all of it', async () => {
    const npm = npmStart(folder.path);
    try {
      const output = await npm.banner();
      const url = /Responses API +(http\S+)\/v1/.exec(output)?.[1] ?? expect.unreachable();
      const key = /Key +(\S+)/.exec(output)?.[1] ?? expect.unreachable();
      const { body } = await callerOf(url, key).create({ input: 'Hello!' });
      expect(body.status).toBe('completed');
      for (const page of [readme, pageOf('first-steps')]) {
        const [shown = expect.unreachable()] = blocksOf('text', page);
        expect(withoutPlaces(output)).toContain(withoutPlaces(shown));
      }
    } finally {
      // A terminal sends the signal to every process of the group.
      await npm.endedBy(() => process.kill(-npm.pid, 'SIGINT'));
    }
  });

  it('about `npm start` holds for a supervisor, too, which sends its signal to npm alone', async () => {
    const npm = npmStart(folder.path);
    await npm.banner();
    await npm.endedBy(() => process.kill(npm.pid, 'SIGTERM'));
  });

  it('and the pages that it is continued on link to files that are there', () => {
    const pages = [...readme.matchAll(/\]\((docs\/[\w-]+\.md)/g)].map(([, path = '']) => path);
    expect(pages.length).toBeGreaterThan(12);
    for (const page of ['README.md', ...pages]) {
      const text = readFileSync(join(root, page), 'utf8');
      const links = [...text.matchAll(/\]\(([^)#:]+)[)#]/g)].map(([, path = '']) => path);
      expect([page, links.filter((path) => !existsSync(join(root, dirname(page), path)))]).toEqual([
        page,
        [],
      ]);
    }
  });

  it('fits into 150 lines', () => {
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(150);
  });
});

describe.each(['architecture', 'changing'])('docs/%s.md', (name) => {
  it('names only files that are there', () => {
    const page = readFileSync(join(root, `docs/${name}.md`), 'utf8');
    const paths = [...page.matchAll(/`([a-z-]+\/(?:src\/[\w./-]*|package\.json))`/g)].map(
      ([, path = '']) => path,
    );
    expect(paths.length).toBeGreaterThan(15);
    const isThere = (path: string) => ['apps', 'packages'].some((at) => existsSync(join(root, at, path)));
    expect(paths.filter((path) => !isThere(path))).toEqual([]);
  });
});

/** Runs `npm start` as the leader of a process group, like the foreground job of a terminal. */
function npmStart(directory: string) {
  const npm = spawn('npm', ['start'], {
    cwd: root,
    env: { ...bareEnvironment(), DATA_DIR: join(directory, 'data'), PORT: '0', ADMIN_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const { pid = expect.unreachable() } = npm;
  const exited = new Promise<unknown>((resolve) => {
    npm.once('close', (code, signal) => resolve({ code, signal }));
  });
  let output = '';
  npm.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return {
    pid,
    banner: () => eventually(() => output.includes('Ctrl-C stops it.') && output, { timeoutMs: 30_000 }),
    /** Sends a signal, and checks that every process ends and npm exits with 0. */
    async endedBy(signal: () => void) {
      const below = descendantsOf(pid);
      signal();
      expect(await within(exited, { timeoutMs: 30_000 })).toEqual({ code: 0, signal: null });
      expect(stillRunning(below)).toEqual([]);
    },
  };
}

/** A banner without the parts that differ between machines: ports, the key, and the store. */
function withoutPlaces(banner: string): string {
  return banner
    .replaceAll(/:\d{4,5}\b/g, ':PORT')
    .replaceAll(/sk-sluice-dev-\w+/g, 'KEY')
    .replaceAll(/act-sluice-dev-[\w-]+/g, 'TOKEN')
    .replaceAll(/^( +Store +).*$/gm, '$1')
    .replaceAll(/ +/g, ' ')
    .trim();
}
