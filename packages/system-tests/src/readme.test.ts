import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { eventually, within } from '@sluice/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { descendantsOf, stillRunning } from './process-tree.ts';
import { type Service, startService } from './service.ts';
import { bareEnvironment, startProcess } from './sluice-process.ts';

// The examples of the README run here unchanged. Only the address and the key come from the environment.

const root = fileURLToPath(new URL('../../../', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** The fenced blocks of a language, in order. */
function blocksOf(language: string): string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, block = '']) => block,
  );
}

const hasPython = (() => {
  try {
    execFileSync('python3', ['-c', 'import openai'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

describe('the examples of the README', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service?.stop());

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

  it('follow a response that is in the background', async () => {
    const [, background = expect.unreachable()] = blocksOf('js');
    const output = await run(process.execPath, ['--input-type=module', '--eval', background]);
    expect(output).toMatch(/^2 response\.in_progress$/m);
    expect(output).toMatch(/^\d+ response\.completed\ncompleted .*Take your time/m);
    expect(output).not.toContain('response.created');
  });

  it.skipIf(!hasPython)('with Python give the same (needs the package openai)', async () => {
    const [block = expect.unreachable()] = blocksOf('python');
    const output = await run('python3', ['-c', block]);
    expect(output).toContain('Hello!');
    expect(output).toContain('Hello again!');
  });

  it('are all of them', () => {
    const count = (language: string) => blocksOf(language).length;
    expect({ js: count('js'), python: count('python'), yaml: count('yaml') }).toEqual({
      js: 2,
      python: 1,
      yaml: 2,
    });
  });
});

describe('what the README says', () => {
  let directory: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sluice-readme-'));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('to write into the file makes a service with that model and that key', async () => {
    await writeFile(join(directory, 'sluice.yaml'), blocksOf('yaml').join(''));
    const process = startProcess({
      command: 'start',
      cwd: directory,
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
    const npm = npmStart(directory);
    try {
      const output = await npm.banner();
      const url = /Responses API +(http\S+)\/v1/.exec(output)?.[1] ?? expect.unreachable();
      const key = /Key +(\S+)/.exec(output)?.[1] ?? expect.unreachable();
      const { body } = await callerOf(url, key).create({ input: 'Hello!' });
      expect(body.status).toBe('completed');
      expect(withoutPlaces(output)).toContain(withoutPlaces(blocksOf('text')[0] ?? ''));
    } finally {
      // A terminal sends the signal to every process of the group.
      await npm.endedBy(() => process.kill(-npm.pid, 'SIGINT'));
    }
  });

  it('about `npm start` holds for a supervisor, too, which sends its signal to npm alone', async () => {
    const npm = npmStart(directory);
    await npm.banner();
    await npm.endedBy(() => process.kill(npm.pid, 'SIGTERM'));
  });

  it('about files is true: each one it links to is there', () => {
    const links = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map(([, path = '']) => path);
    expect(links.length).toBeGreaterThan(3);
    expect(links.filter((path) => !existsSync(join(root, path)))).toEqual([]);
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
