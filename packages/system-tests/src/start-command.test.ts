import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually, hasServer, testRedis, within } from '@sluice/testing';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { builtConsole } from './built-console.ts';
import { callerOf } from './caller.ts';
import { descendantsOf, stillRunning } from './process-tree.ts';
import { type SluiceProcess, type SluiceProcessOptions, startProcess } from './sluice-process.ts';

let directory: string;
const started: SluiceProcess[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-start-'));
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((process) => process.stop()));
  await rm(directory, { recursive: true, force: true });
});

/** Runs a command in a new folder, on free ports, with its data in that folder. */
function run(options: SluiceProcessOptions): SluiceProcess {
  const process = startProcess({
    cwd: directory,
    ...options,
    env: { DATA_DIR: join(directory, 'data'), PORT: '0', ADMIN_PORT: '0', ...options.env },
  });
  started.push(process);
  return process;
}

interface Banner {
  text: string;
  url: string;
  adminUrl: string;
  key: string;
  /** The development action token. */
  token: string;
}

async function bannerOf(process: SluiceProcess): Promise<Banner> {
  const [text] = await process.printed(/Sluice is ready\.[\s\S]*Ctrl-C stops it\./, { timeoutMs: 60_000 });
  return {
    text,
    url: found(/Responses API +(http\S+)\/v1/, text),
    adminUrl: found(/Dashboard +(http\S+)\/queues/, text),
    key: found(/Key +(\S+)/, text),
    token: found(/Action token +(\S+)/, text),
  };
}

/** Runs the first command that a banner shows, and reads its answer. */
async function curlOf(text: string): Promise<Record<string, unknown>> {
  const [, curl = expect.unreachable()] = /^ {2}(curl (?:.*\\\n)*.*)$/m.exec(text) ?? [];
  const { stdout } = await promisify(execFile)('sh', ['-c', curl]);
  return JSON.parse(stdout) as Record<string, unknown>;
}

function found(pattern: RegExp, text: string): string {
  return pattern.exec(text)?.[1] ?? expect.unreachable(`${pattern} is not in:\n${text}`);
}

/** Commands that need nothing but the data folder of a running service. */
const besideService = [
  ['keys', ['create', '--tenant', 'team-a']],
  ['keys', ['list']],
  ['queues', ['list']],
  ['tenants', []],
  ['responses', ['list']],
] as const;

/** A PATH without a server. A PATH with the usual tools would have one. */
const pathWithoutServers = '/nonexistent';

const stores = [
  {
    store: 'a server from the PATH',
    says: /Store +a server of its own at redis:\/\/127\.0\.0\.1:\d+/,
    env: {},
    isHere: hasServer,
  },
  {
    store: 'the embedded store',
    says: /Store +embedded, for trying things out: a crash may lose its last seconds/,
    env: { PATH: pathWithoutServers },
    isHere: true,
  },
] as const;

for (const { store, says, env, isHere } of stores) {
  describe.skipIf(!isHere)(`start, on ${store}`, () => {
    it('says where it is and how to try it, and that works', async () => {
      const process = run({ command: 'start', env });
      const { text, url, adminUrl, key } = await bannerOf(process);
      expect(text).toMatch(says);
      expect(text).toContain(`${url}/api/v1`);
      expect(text).toMatch(/Models +simulator, simulator-reasoning/);

      expect(await curlOf(text)).toMatchObject({ object: 'response', status: 'completed' });

      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      expect((await fetch(`${adminUrl}/queues/`)).status).toBe(200);
      expect(await (await fetch(`${adminUrl}/metrics`)).text()).toContain('sluice_');
      expect(process.errors()).not.toContain(key);
    });

    it('lets whoever started it act, with the token that it shows', async () => {
      const first = run({ command: 'start', env });
      const { url, adminUrl, key, token } = await bannerOf(first);
      const act = (path: string, given: string, init: RequestInit = { method: 'POST' }) =>
        fetch(`${adminUrl}/admin/v1${path}`, { ...init, headers: { 'sluice-action-token': given } });
      expect((await act('/queues/simulator/pause', `${token}x`)).status).toBe(401);
      expect((await act('/queues/simulator/pause', token)).status).toBe(200);
      const opened = await act('/session', token, {});
      expect(await opened.json()).toMatchObject({ takes_development_key: true, development_key: key });
      const locked = await fetch(`${adminUrl}/admin/v1/session`);
      expect(await locked.json()).toMatchObject({ takes_development_key: true, development_key: null });
      const { body } = await callerOf(url, key).create({ input: 'Hi', background: true });
      expect(body.status).toBe('queued');
      expect((await act('/queues/simulator/resume', token)).status).toBe(200);
      const tail = await act(`/responses/${body.id}/events`, token, {});
      expect(await tail.text()).toContain('event: end\ndata: {"reason":"ended"}');
      const content = await act(`/responses/${body.id}/content`, token, {});
      expect(await content.json()).toMatchObject({ output_text: expect.stringContaining('Hi') });
      const retried = await act(`/responses/${body.id}/retry`, token);
      expect(await retried.json()).toMatchObject({ object: 'retried', retry_of: body.id });
      expect(first.errors()).not.toContain(token);
      await first.stop('SIGINT');

      const after = await bannerOf(run({ command: 'start', env }));
      expect(after.token).toBe(token);
      const audit = (await (await fetch(`${after.adminUrl}/admin/v1/audit`)).json()) as { data: unknown[] };
      // The wrong token, too.
      expect(audit.data).toHaveLength(9);
    });

    it('leaves no process and no port after a Ctrl-C', async () => {
      const process = run({ command: 'start', env, leadsGroup: true });
      const { url, adminUrl } = await bannerOf(process);
      const below = descendantsOf(process.pid);
      expect(below.length).toBeGreaterThanOrEqual(3);

      process.signalGroup('SIGINT');
      await expect(within(process.exited, { timeoutMs: 30_000 })).resolves.toEqual({ code: 0, signal: null });

      expect(stillRunning(below)).toEqual([]);
      await expect(fetch(`${url}/healthz`)).rejects.toThrow();
      await expect(fetch(`${adminUrl}/metrics`)).rejects.toThrow();
      expect(process.output()).not.toMatch(/^\s+at /m);
    });

    it('is found by the command with its data folder alone, and no longer when it has stopped', async () => {
      const service = run({ command: 'start', env });
      const { text, url } = await bannerOf(service);
      const [, at = ''] = /redis:\/\/(\S+?:\d+)/.exec(text) ?? [];
      const alone = { PORT: '' };
      for (const [command, args] of besideService) {
        const beside = run({ command, args, env: alone });
        expect([await beside.exited, beside.output()]).toEqual([
          { code: 0, signal: null },
          expect.any(String),
        ]);
        if (command !== 'responses') expect(beside.errors()).toContain(`using redis://${at}, the store of`);
      }
      const listed = run({ command: 'responses', args: ['list', '--json'], env: alone });
      await listed.exited;
      expect(url).not.toContain(':3000');
      expect(listed.output()).toBe('');
      await service.stop('SIGINT');
      const after = run({ command: 'queues', args: ['list'], env: alone });
      expect(await after.exited).toMatchObject({ code: 1 });
      expect(after.output()).toMatch(/^sluice: REDIS_URL is not set, and no service runs with /);
    });

    it('keeps its key and its responses over a restart', async () => {
      const first = run({ command: 'start', env });
      const before = await bannerOf(first);
      const { body } = await callerOf(before.url, before.key).create({ input: 'Keep this.' });
      await expect(first.stop('SIGINT')).resolves.toEqual({ code: 0, signal: null });

      const after = await bannerOf(run({ command: 'start', env }));
      expect(after.key).toBe(before.key);
      const read = await callerOf(after.url, after.key).get(body.id);
      expect(read.body).toEqual(body);
    });
  });
}

it('start passes a SIGHUP on to its api, which takes a key from a file that was not there', async () => {
  const redis = await testRedis();
  try {
    const process = run({ command: 'start', env: { REDIS_URL: redis.url } });
    const { url, key } = await bannerOf(process);
    const statusOf = async (tried: string) =>
      (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${tried}` } })).status;
    process.signal('SIGHUP');
    await process.logged('settings read again, nothing to put into effect');
    await writeFile(join(directory, 'sluice.yaml'), 'keys: [{ name: a, key: sk-of-the-file-0123456789 }]\n');
    await process.logged('settings changed');
    expect(await statusOf('sk-of-the-file-0123456789')).toBe(200);
    expect(await statusOf(key)).toBe(401);
    expect(process.output()).not.toContain('starting it again');
  } finally {
    await Promise.all(started.splice(0).map((process) => process.stop()));
    await redis.close();
  }
});

it('start uses the Redis that REDIS_URL names, and does not show its password', async () => {
  const redis = await testRedis();
  try {
    const file = join(directory, 'sluice.yaml');
    await writeFile(file, `keyPrefix: '${redis.prefix}:'\n`);
    const named = new URL(redis.url);
    const process = run({ command: 'start', env: { REDIS_URL: redis.url, PATH: pathWithoutServers } });
    const { text, url, key } = await bannerOf(process);
    expect(text).toMatch(/Store +redis:\/\//);
    expect(text).toContain(named.host);
    const { body } = await callerOf(url, key).create({ input: 'Where does this go?' });
    expect(body.status).toBe('completed');
    expect(await redis.client.keys(`${redis.prefix}:*`)).not.toEqual([]);
    await expect(process.stop('SIGINT')).resolves.toEqual({ code: 0, signal: null });
  } finally {
    await redis.close();
  }
});

it('start takes its development key beside a stored one until that is revoked, and shows a curl that works', async () => {
  const redis = await testRedis();
  try {
    await writeFile(join(directory, 'sluice.yaml'), `keyPrefix: '${redis.prefix}:'\n`);
    const env = { REDIS_URL: redis.url };
    const made = run({ command: 'keys', args: ['create', '--tenant', 'a', '--json'], env });
    await made.exited;
    const { key } = JSON.parse(made.output()) as { key: string };
    const process = run({ command: 'start', env });
    const { text, url } = await bannerOf(process);
    expect((await curlOf(text)).status).toBe('completed');
    expect((await callerOf(url, key).create({ input: 'Hi' })).body.status).toBe('completed');
    const revoking = run({ command: 'keys', args: ['revoke', 'development'] });
    expect(await revoking.exited).toMatchObject({ code: 0 });
    await process.stop('SIGINT');

    const again = run({ command: 'start', env });
    await again.printed(/Ctrl-C stops it\./, { timeoutMs: 60_000 });
    expect(again.output()).toMatch(/Key +one of those that 'sluice keys list' shows/);
    expect(await curlOf(again.output())).toMatchObject({ status: 'ready' });
    expect(again.output()).not.toContain('sk-sluice-dev-');
  } finally {
    await Promise.all(started.splice(0).map((process) => process.stop()));
    await redis.close();
  }
});

it('start says that a worker was killed, and replaces it', async () => {
  const process = run({ command: 'start', args: ['--workers', '2'], env: { PATH: pathWithoutServers } });
  const { url, key } = await bannerOf(process);
  const workers = descendantsOf(process.pid).filter(({ args }) => args.includes('main.js worker'));
  expect(workers).toHaveLength(2);
  for (const { pid } of workers) globalThis.process.kill(pid, 'SIGKILL');
  await process.printed(/the worker 1 \(process \d+\) died with signal SIGKILL; starting it again/);
  await process.printed(/the worker 1 is back \(process \d+\)/);
  await process.printed(/the worker 2 is back \(process \d+\)/);
  const { body } = await callerOf(url, key).create({ input: 'Is anybody there?' });
  expect(body.status).toBe('completed');
});

it('start takes everything with it when it is killed itself', async () => {
  const process = run({ command: 'start' });
  await bannerOf(process);
  const below = descendantsOf(process.pid);
  await process.kill();
  await eventually(() => stillRunning(below).length === 0, { timeoutMs: 30_000 });
});

describe('a command that cannot start', () => {
  // An api that has none says so.
  beforeAll(builtConsole);

  /** The output without the log lines of the processes. */
  const wordsOf = (process: SluiceProcess) =>
    process
      .output()
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('{'));

  it('names the setting of a port that is taken, and exits with 1', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const address = taken.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    try {
      const process = run({ command: 'start', env: { PORT: String(port), PATH: pathWithoutServers } });
      await expect(within(process.exited, { timeoutMs: 30_000 })).resolves.toMatchObject({ code: 1 });
      expect(wordsOf(process)).toEqual([expect.stringContaining('set PORT to another port')]);
      expect(process.output()).not.toMatch(/^\s+at |"stack"/m);
    } finally {
      await new Promise((resolve) => taken.close(resolve));
    }
  });

  it('says what is wrong in the file, and exits with 2', async () => {
    await writeFile(join(directory, 'sluice.yaml'), 'limits: { queud: 5 }\n');
    const process = run({ command: 'start' });
    await expect(within(process.exited)).resolves.toMatchObject({ code: 2 });
    expect(wordsOf(process)).toEqual([expect.stringMatching(/queud.*queued/)]);
  });

  it('says what this machine lacks for a model, and exits with 2', async () => {
    const models = 'models: [{ id: m, routes: [{ provider: here, model: m }] }]';
    const providers = 'providers: [{ id: here, type: llama-cpp, modelPath: none.gguf }]';
    await writeFile(join(directory, 'sluice.yaml'), `${providers}\n${models}\n`);
    const process = run({ command: 'worker', env: { REDIS_URL: 'redis://127.0.0.1:1' } });
    await expect(within(process.exited, { timeoutMs: 30_000 })).resolves.toMatchObject({ code: 2 });
    // The one or the other, as the package is there or not.
    expect(wordsOf(process)).toEqual([
      expect.stringMatching(/'here'.*(?:npm install node-llama-cpp|none\.gguf: there is no such file)/),
    ]);
    expect(process.output()).not.toMatch(/^\s+at |"stack"/m);
  });

  it('says which package of a provider to install, and exits with 2', async () => {
    const settings = {
      providers: [{ id: 'vendor', type: 'ai-sdk', package: '@example/not-installed' }],
      models: [{ id: 'm', routes: [{ provider: 'vendor' }] }],
    };
    await writeFile(join(directory, 'sluice.yaml'), JSON.stringify(settings));
    const process = run({ command: 'start', env: { PATH: pathWithoutServers } });
    await expect(within(process.exited, { timeoutMs: 60_000 })).resolves.toMatchObject({ code: 2 });
    expect(wordsOf(process)).toEqual([expect.stringContaining("'vendor'")]);
    expect(wordsOf(process)).toEqual([expect.stringMatching(/npm install @example\/not-installed$/)]);
  });

  it('says that Redis cannot be reached, and exits with 1', async () => {
    const process = run({ command: 'start', env: { REDIS_URL: 'redis://:hidden@127.0.0.1:1' } });
    await expect(within(process.exited, { timeoutMs: 30_000 })).resolves.toMatchObject({ code: 1 });
    expect(wordsOf(process)).toEqual([expect.stringContaining('REDIS_URL')]);
    // It must not be in the log lines either.
    expect(process.output()).not.toMatch(/^\s+at |"stack"/m);
    expect(process.output()).not.toContain('hidden');
  });

  it.each(['start', 'api'] as const)(
    '%s says that DATA_DIR cannot be used, and exits with 2',
    async (command) => {
      const redis = await testRedis();
      const file = join(directory, 'a-file');
      await writeFile(file, '');
      await writeFile(join(directory, 'sluice.yaml'), `keyPrefix: '${redis.prefix}:'\n`);
      try {
        // Whether it needs a development key is known once Redis has answered.
        const process = run({ command, env: { DATA_DIR: file, REDIS_URL: redis.url } });
        await expect(within(process.exited, { timeoutMs: 30_000 })).resolves.toMatchObject({ code: 2 });
        expect(wordsOf(process)).toEqual([expect.stringContaining(file)]);
        expect(process.output()).not.toMatch(/^\s+at |"stack"/m);
      } finally {
        await redis.close();
      }
    },
  );

  it.each(['start', 'api'] as const)(
    '%s says that it needs a key beyond loopback, and exits with 2',
    async (command) => {
      const redis = await testRedis();
      await writeFile(join(directory, 'sluice.yaml'), `keyPrefix: '${redis.prefix}:'\n`);
      try {
        const process = run({ command, env: { HOST: '0.0.0.0', REDIS_URL: redis.url } });
        await expect(within(process.exited, { timeoutMs: 30_000 })).resolves.toMatchObject({ code: 2 });
        expect(wordsOf(process)).toEqual([
          expect.stringContaining(
            'HOST: is not a loopback address and there is no key; add `keys` to the file',
          ),
        ]);
        expect(process.output()).not.toMatch(/^\s+at |"stack"/m);
      } finally {
        await redis.close();
      }
    },
  );

  it('lists several problems below each other, and exits with 2', async () => {
    const process = run({ command: 'start', env: { PORT: '80000', ADMIN_PORT: '-1' } });
    await expect(within(process.exited)).resolves.toMatchObject({ code: 2 });
    expect(wordsOf(process)).toEqual([
      'sluice: bad configuration, 2 problems:',
      expect.stringMatching(/^ {2}PORT: /),
      expect.stringMatching(/^ {2}ADMIN_PORT: /),
    ]);
  });

  it.each(['api', 'worker'] as const)('%s asks for REDIS_URL, and exits with 2', async (command) => {
    const process = run({ command });
    await expect(within(process.exited)).resolves.toMatchObject({ code: 2 });
    expect(wordsOf(process)).toEqual([expect.stringContaining('REDIS_URL')]);
  });
});
