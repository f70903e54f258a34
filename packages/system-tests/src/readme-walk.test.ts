import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { eventually, freePort, within, workspace } from '@sluice/testing';
import { expect, it, onTestFinished } from 'vitest';
import { bareEnvironment } from './sluice-process.ts';

// The commands of the README, each block in its order, as somebody types them who has nothing but a clone. What is installed comes from
// this machine. Ports, ids and the length of a load are the test's.

const run = promisify(execFile);
const blocksOf = (page: string) =>
  [...readFileSync(join(workspace, page), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(
    ([, block = '']) => block,
  );

/** The files of the repository in a folder of its own, with the libraries of this one. */
async function clone(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-clone-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const listed = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: workspace,
    maxBuffer: 1 << 24,
  });
  for (const file of listed.stdout
    .split('\0')
    .filter((each) => /^(apps|packages|package|tsconfig)/.test(each))) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    // A file that was removed and is not committed is no part of it.
    await cp(join(workspace, file), join(folder, file)).catch(() => undefined);
  }
  const modules = join(folder, 'node_modules');
  await mkdir(join(modules, '@sluice'), { recursive: true });
  for (const name of await readdir(join(workspace, 'node_modules'))) {
    if (name === 'sluice' || name === '@sluice' || name === '.cache') continue;
    await symlink(join(workspace, 'node_modules', name), join(modules, name));
  }
  for (const group of ['apps', 'packages']) {
    for (const name of await readdir(join(folder, group))) {
      const { name: own } = JSON.parse(readFileSync(join(folder, group, name, 'package.json'), 'utf8')) as {
        name: string;
      };
      await symlink(join(folder, group, name), join(modules, own));
    }
  }
  return folder;
}

it('the commands of the README work in their order, from a clone with nothing else', {
  timeout: 300_000,
}, async () => {
  const [start = '', address = '', curls = '', keys = '', scale = '', look = '', ...others] =
    blocksOf('README.md');
  expect(others).toEqual([]);
  expect(blocksOf('docs/changing.md')).toEqual(['npm ci && npm test\n']);
  expect(start).toMatch(/^git clone \S+ sluice && cd sluice .*\nnpm ci && npm start\n$/);

  const cwd = await clone();
  const [port, adminPort, secondPort, secondAdminPort] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  let env: Record<string, string> = {
    ...bareEnvironment(),
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
  };
  /** Runs lines in a shell, with the ports of the test in the place of those of the page. */
  const type = async (lines: string) => {
    const typed = lines.replaceAll(':3000', `:${port}`).replaceAll(':8000', `:${port}`);
    return (await run('sh', ['-ec', typed], { cwd, env, maxBuffer: 1 << 24 })).stdout;
  };
  /** Runs a line that goes on, until the end of the test. */
  const leave = (line: string) => {
    const child = spawn('sh', ['-ec', line], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
    onTestFinished(async () => {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
      await within(exited, { timeoutMs: 60_000 });
    });
    return {
      says: (pattern: RegExp) => eventually(() => pattern.exec(output)?.[0] ?? false, { timeoutMs: 90_000 }),
    };
  };
  const answersOf = async () => {
    const output = await type(curls);
    const streamAt = output.indexOf('event: response.created');
    expect(JSON.parse(output.slice(0, streamAt))).toMatchObject({ status: 'completed' });
    expect(output.slice(streamAt)).toContain('event: response.completed');
  };

  const banner = await leave('npm start').says(/Sluice is ready\.[\s\S]*Ctrl-C stops it\./);
  const [, curl = ''] = /^ {2}(curl (?:.*\\\n)*.*)$/m.exec(banner) ?? [];
  expect(JSON.parse(await type(curl))).toMatchObject({ status: 'completed' });

  const exports = address.replace('...', /Key +(\S+)/.exec(banner)?.[1] ?? '').replace(':3000', `:${port}`);
  const exported = [...exports.matchAll(/^export (\w+)=(\S+)/gm)].map(([, name, value]) => [name, value]);
  Object.assign(env, Object.fromEntries(exported));
  await answersOf();

  const [create = '', list = '', limit = '', rotate = '', revoke = ''] = keys.trim().split('\n');
  const created = await type(create);
  const [, id = ''] = /Its id is (key_\w+)/.exec(created) ?? [];
  expect(await type(list)).toMatch(new RegExp(`^key_development .* active\\n${id} .* active\\n`, 'm'));
  expect(await type(limit)).toContain("Changed in the stored key of 'team-a'");
  expect(await type(rotate.replace('ID', id))).toContain("New key of 'team-a'");
  expect(await type(revoke.replace('ID', id))).toContain(`Revoked ${id}`);
  // What stands above works still, with the key of the banner.
  await answersOf();
  const before = env;
  env = { ...env, OPENAI_API_KEY: /^ {2}(sk-sluice-\w+)$/m.exec(await type(create))?.[1] ?? '' };
  await eventually(
    () =>
      answersOf().then(
        () => true,
        () => false,
      ),
    { timeoutMs: 30_000 },
  );
  env = before;

  const { store } = JSON.parse(readFileSync(join(cwd, '.data/running-service.json'), 'utf8')) as {
    store: string;
  };
  const [redisUrl = '', api = '', worker = '', second = ''] = scale.trim().split('\n');
  expect(redisUrl).toMatch(/^export REDIS_URL=redis:/);
  const alone = env;
  env = {
    ...env,
    REDIS_URL: store,
    PORT: String(await freePort()),
    ADMIN_PORT: String(await freePort()),
    WORKER_HEALTH_PORT: '0',
  };
  await Promise.all([
    leave(api).says(/"api ready"/),
    leave(worker).says(/"worker ready"/),
    leave(second.replace('3100', String(secondPort)).replace('3101', String(secondAdminPort))).says(
      /"api ready"/,
    ),
  ]);
  env = { ...alone, OPENAI_BASE_URL: `http://127.0.0.1:${secondPort}/v1` };
  await answersOf();
  env = alone;

  const page = await eventually(
    async () => {
      const answer = await fetch(`http://127.0.0.1:${adminPort}/console`);
      const text = await answer.text();
      return answer.status === 200 && text;
    },
    { timeoutMs: 90_000 },
  );
  expect(page).toContain('<script');

  const [responses = '', tail = '', cancel = '', make = '', own = '', other = ''] = look.trim().split('\n');
  const [newest = expect.unreachable()] = /create-response_\w+|resp_\w+/.exec(await type(responses)) ?? [];
  expect(await type(tail.replace(' ID ', ` ${newest} `))).toContain('Hello!');
  expect(await type(cancel.replace('ID', newest))).toMatch(/^status +completed$/m);
  expect(await type(make)).toContain('hash: sha256:');

  expect(await type(own.replace('--duration 30s', '--requests 50'))).toMatch(/\b50\b/);
  expect(JSON.parse(await type(other.replace('--requests 500', '--requests 10')))).toBeTypeOf('object');
});
