import { randomBytes } from 'node:crypto';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { forAllTests, eventually, hasServer, type TestRedis, testRedis, within } from '@sluice/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { builtConsole } from './built-console.ts';
import { callerOf } from './caller.ts';
import { descendantsOf, stillRunning } from './process-tree.ts';
import type { ResponseObject } from './read-stream.ts';
import { type SluiceProcess, type SluiceProcessOptions, startProcess } from './sluice-process.ts';

/** A new folder to run commands in, on free ports, with their data in that folder. Disposal stops all that still run. */
interface Place {
  directory: string;
  /** Writes the settings file. */
  configure: (settings: object) => Promise<void>;
  run: (options: SluiceProcessOptions) => SluiceProcess;
  [Symbol.asyncDispose]: () => Promise<void>;
}

async function newPlace(): Promise<Place> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-start-'));
  const started: SluiceProcess[] = [];
  return {
    directory,
    configure: (settings) => writeFile(join(directory, 'sluice.yaml'), JSON.stringify(settings)),
    run(options) {
      const process = startProcess({
        cwd: directory,
        ...options,
        env: { DATA_DIR: join(directory, 'data'), PORT: '0', ADMIN_PORT: '0', ...options.env },
      });
      started.push(process);
      return process;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(started.map((process) => process.stop()));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The same, with the keys of its service under a prefix of their own in the Redis of the run. */
async function newPlaceAtRedis(): Promise<Place & { redis: TestRedis }> {
  const redis = await testRedis();
  const place = await newPlace();
  await place.configure({ keyPrefix: `${redis.prefix}:` });
  return {
    ...place,
    redis,
    async [Symbol.asyncDispose]() {
      await place[Symbol.asyncDispose]();
      await redis.close();
    },
  };
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
  const [text] = await process.printed(/Sluice is ready\.[\s\S]*Ctrl-C stops it\./);
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
  // One service in the order of its life: it is used, ended, started again, and killed.
  describe.skipIf(!isHere)(`start, on ${store}`, () => {
    let service: SluiceProcess;
    let banner: Banner;
    let audit: unknown[];
    let kept: ResponseObject;
    const auditOf = async ({ adminUrl }: Banner) => {
      const answer = await fetch(`${adminUrl}/admin/v1/audit`);
      return ((await answer.json()) as { data: unknown[] }).data;
    };

    const place = forAllTests(newPlace);
    beforeAll(async () => {
      service = place.run({ command: 'start', env, leadsGroup: true });
      banner = await bannerOf(service);
    });

    it('says where it is and how to try it, and that works', async () => {
      const { text, url, adminUrl, key } = banner;
      expect(text).toMatch(says);
      expect(text).toContain(`${url}/api/v1`);
      expect(text).toMatch(/Models +simulator, simulator-reasoning/);

      expect(await curlOf(text)).toMatchObject({ object: 'response', status: 'completed' });

      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      expect((await fetch(`${adminUrl}/queues/`)).status).toBe(200);
      expect(await (await fetch(`${adminUrl}/metrics`)).text()).toContain('sluice_');
      expect(service.errors()).not.toContain(key);
    });

    it('lets whoever started it act, with the token that it shows', async () => {
      const { url, adminUrl, key, token } = banner;
      const act = (path: string, given: string, init: RequestInit = { method: 'POST' }) =>
        fetch(`${adminUrl}/admin/v1${path}`, { ...init, headers: { 'sluice-action-token': given } });
      expect((await act('/queues/simulator/pause', `${token}x`)).status).toBe(401);
      expect((await act('/queues/simulator/pause', token)).status, service.errors()).toBe(200);
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
      expect(service.errors()).not.toContain(token);
      audit = await auditOf(banner);
      // The wrong token, too.
      expect(audit).toHaveLength(9);
    });

    it('is found by the command with its data folder alone', async () => {
      const { text, url, key } = banner;
      expect(url).not.toContain(':3000');
      kept = (await callerOf(url, key).create({ input: 'Keep this.' })).body;
      expect(kept.id, service.errors()).toMatch(/^create-response_/);
      const [, at = ''] = /redis:\/\/(\S+?:\d+)/.exec(text) ?? [];
      const results = besideService.map(async ([command, args]) => {
        const beside = place.run({ command, args, env: { PORT: '' } });
        const { code } = await beside.exited;
        return { command, code, out: beside.output(), errors: beside.errors() };
      });
      for (const { command, code, out, errors } of await Promise.all(results)) {
        expect([command, code, out]).toEqual([command, 0, expect.any(String)]);
        if (command === 'responses') expect(out).toContain(kept.id);
        else expect(errors).toContain(`using redis://${at}, the store of`);
      }
    });

    it('leaves no process and no port after a Ctrl-C, and nothing for the command to find', async () => {
      const { url, adminUrl } = banner;
      const below = descendantsOf(service.pid);
      expect(below.length).toBeGreaterThanOrEqual(3);

      service.signalGroup('SIGINT');
      await expect(within(service.exited)).resolves.toEqual({ code: 0, signal: null });

      expect(stillRunning(below)).toEqual([]);
      await expect(fetch(`${url}/healthz`)).rejects.toThrow();
      await expect(fetch(`${adminUrl}/metrics`)).rejects.toThrow();
      expect(service.output()).not.toMatch(/^\s+at /m);
      const after = place.run({ command: 'queues', args: ['list'] });
      expect(await after.exited).toMatchObject({ code: 1 });
      expect(after.output()).toMatch(/^sluice: REDIS_URL is not set, and no service runs with /);
    });

    it('keeps its key, its token, its audit log and its responses over a restart', async () => {
      service = place.run({ command: 'start', env });
      const after = await bannerOf(service);
      expect([after.key, after.token]).toEqual([banner.key, banner.token]);
      expect((await callerOf(after.url, after.key).get(kept.id)).body).toEqual(kept);
      expect(await auditOf(after)).toEqual(audit);
    });

    it('takes everything with it when it is killed itself', async () => {
      const below = descendantsOf(service.pid);
      expect(below.length).toBeGreaterThanOrEqual(3);
      await service.kill();
      await eventually(() => stillRunning(below).length === 0);
    });
  });
}

describe('start, with two workers', () => {
  let service: SluiceProcess;
  let banner: Banner;
  const fileKey = 'sk-of-the-file-0123456789';

  const place = forAllTests(newPlace);
  beforeAll(async () => {
    service = place.run({ command: 'start', args: ['--workers', '2'] });
    banner = await bannerOf(service);
  });

  it('passes a SIGHUP on to its api, which takes a key from a file that was not there', async () => {
    const { url, key } = banner;
    const statusOf = async (tried: string) =>
      (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${tried}` } })).status;
    service.signal('SIGHUP');
    await service.logged('settings read again, nothing to put into effect');
    await place.configure({ keys: [{ name: 'a', key: fileKey }] });
    // The workers say the same of the file, and may be first.
    await eventually(async () => (await statusOf(fileKey)) === 200);
    expect(await statusOf(key)).toBe(401);
    expect(service.output()).not.toContain('starting it again');
  });

  it('says that a worker was killed, and replaces it', async () => {
    const workers = descendantsOf(service.pid).filter(({ args }) => args.includes('main.js worker'));
    expect(workers).toHaveLength(2);
    for (const { pid } of workers) process.kill(pid, 'SIGKILL');
    await service.printed(/the worker 1 \(process \d+\) died with signal SIGKILL; starting it again/);
    await service.printed(/the worker 1 is back \(process \d+\)/);
    await service.printed(/the worker 2 is back \(process \d+\)/);
    const { body } = await callerOf(banner.url, fileKey).create({ input: 'Is anybody there?' });
    expect(body.status).toBe('completed');
  });
});

describe('start, on the Redis that REDIS_URL names', () => {
  let service: SluiceProcess;
  let banner: Banner;
  let stored: string;
  let env: Record<string, string>;

  const place = forAllTests(newPlaceAtRedis);
  beforeAll(async () => {
    env = { REDIS_URL: place.redis.url, PATH: pathWithoutServers };
    const made = place.run({ command: 'keys', args: ['create', '--tenant', 'a', '--json'], env });
    await made.exited;
    ({ key: stored } = JSON.parse(made.output()) as { key: string });
    service = place.run({ command: 'start', env });
    banner = await bannerOf(service);
  });

  it('says which that is, and keeps its data there', async () => {
    const { text, url, key } = banner;
    expect(text).toMatch(/Store +redis:\/\//);
    expect(text).toContain(new URL(place.redis.url).host);
    const { body } = await callerOf(url, key).create({ input: 'Where does this go?' });
    expect(body.status).toBe('completed');
    const { client, prefix } = place.redis;
    expect((await client.keys(`${prefix}:*`)).join('\n')).toContain(body.id);
  });

  it('runs over several cells', async () => {
    await using other = await newPlaceAtRedis();
    const { url } = other.redis;
    const shown = await bannerOf(other.run({ command: 'start', env: { REDIS_URL: `${url} ${url}?cell=E` } }));
    const { status, body } = await callerOf(shown.url, shown.key).create({ input: 'Hi' });
    expect([status, body.status]).toEqual([200, 'completed']);
  });

  it('runs while the first of its cells is away', async () => {
    await using other = await newPlaceAtRedis();
    const { url, prefix } = other.redis;
    const key = 'sk-of-two-cells-0123456789';
    await other.configure({
      keyPrefix: `${prefix}:`,
      keys: [{ name: 'two', key, limits: { cells: 2 } }],
      // Otherwise there is one in the first cell, or none yet, and nobody can tell.
      encryptionKeys: [randomBytes(32).toString('base64')],
    });
    const process = other.run({
      command: 'start',
      env: { REDIS_URL: `redis://127.0.0.1:1 ${url}?cell=E` },
    });
    const [text] = await process.printed(/Sluice is ready\.[\s\S]*Ctrl-C stops it\./);
    const caller = callerOf(found(/Responses API +(http\S+)\/v1/, text), key);
    const { status, body } = await caller.create({ input: 'Hi' });
    expect([status, body.status]).toEqual([200, 'completed']);
  });

  it('takes its development key beside a stored one until that is revoked, and shows a curl that works', async () => {
    const { text, url } = banner;
    expect((await curlOf(text)).status).toBe('completed');
    expect((await callerOf(url, stored).create({ input: 'Hi' })).body.status).toBe('completed');
    const revoking = place.run({ command: 'keys', args: ['revoke', 'development'] });
    expect(await revoking.exited).toMatchObject({ code: 0 });
    await expect(service.stop('SIGINT')).resolves.toEqual({ code: 0, signal: null });

    const again = place.run({ command: 'start', env });
    await again.printed(/Ctrl-C stops it\./);
    expect(again.output()).toMatch(/Key +one of those that 'sluice keys list' shows/);
    expect(await curlOf(again.output())).toMatchObject({ status: 'ready' });
    expect(again.output()).not.toContain('sk-sluice-dev-');
  });
});

// One of them waits for a Redis for seconds, beside the others.
describe.concurrent('a command that cannot start', () => {
  // An api that has none says so.
  beforeAll(builtConsole);

  /** The words of a command that ends by itself with a code, without the log lines of its processes. It shows nobody a stack. */
  async function lastWords(process: SluiceProcess, code: number): Promise<string[]> {
    await expect(within(process.exited)).resolves.toMatchObject({ code });
    expect(process.output()).not.toMatch(/^\s+at |"stack"/m);
    const lines = process.output().split('\n');
    return lines.filter((line) => line !== '' && !line.startsWith('{'));
  }

  it('ends without a service when it is told to stop while its store starts', async () => {
    await using place = await newPlace();
    const process = place.run({ command: 'start' });
    await eventually(() => existsSync(join(place.directory, 'data', 'redis', 'sluice.lock')));
    process.signal('SIGTERM');
    await expect(within(process.exited)).resolves.toMatchObject({ code: 0 });
    const [, afterwards] = process.output().split('"msg":"stopping"');
    expect(afterwards).toBeDefined();
    // Its processes may have begun before the signal came, and say what they have come to.
    expect(afterwards).not.toContain('Sluice is ready');
  });

  it('names the setting of a port that is taken, and exits with 1', async () => {
    await using place = await newPlace();
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const address = taken.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    try {
      const process = place.run({ command: 'start', env: { PORT: String(port) } });
      expect(await lastWords(process, 1)).toEqual([expect.stringContaining('set PORT to another port')]);
    } finally {
      await new Promise((resolve) => taken.close(resolve));
    }
  });

  it('lists what is wrong in a variable and in the file below each other, and exits with 2', async () => {
    await using place = await newPlace();
    await place.configure({ limits: { queud: 5 } });
    const process = place.run({ command: 'start', env: { PORT: '80000' } });
    expect(await lastWords(process, 2)).toEqual([
      'sluice: bad configuration, 2 problems:',
      expect.stringMatching(/^ {2}PORT: /),
      expect.stringMatching(/^ {2}limits\.queud: .*queued/),
    ]);
  });

  it('says what this machine lacks for a model, and exits with 2', async () => {
    await using place = await newPlace();
    await place.configure({
      providers: [{ id: 'here', type: 'llama-cpp', modelPath: 'none.gguf' }],
      models: [{ id: 'm', routes: [{ provider: 'here', model: 'm' }] }],
    });
    const process = place.run({ command: 'worker', env: { REDIS_URL: 'redis://127.0.0.1:1' } });
    // The one or the other, as the package is there or not.
    expect(await lastWords(process, 2)).toEqual([
      expect.stringMatching(/'here'.*(?:npm install node-llama-cpp|none\.gguf: there is no such file)/),
    ]);
  });

  it('says which package of a provider to install, and exits with 2', async () => {
    await using place = await newPlace();
    await place.configure({
      providers: [{ id: 'vendor', type: 'ai-sdk', package: '@example/not-installed' }],
      models: [{ id: 'm', routes: [{ provider: 'vendor' }] }],
    });
    const process = place.run({ command: 'start' });
    expect(await lastWords(process, 2)).toEqual([
      expect.stringMatching(/'vendor'.*npm install @example\/not-installed$/),
    ]);
  });

  it('says that Redis cannot be reached, and exits with 1', async () => {
    await using place = await newPlace();
    const process = place.run({ command: 'start', env: { REDIS_URL: 'redis://:hidden@127.0.0.1:1' } });
    expect(await lastWords(process, 1)).toEqual([expect.stringContaining('REDIS_URL')]);
    expect(process.output()).not.toContain('hidden');
  });

  it.each(['start', 'api'] as const)(
    '%s says that DATA_DIR cannot be used, and exits with 2',
    async (command) => {
      await using place = await newPlaceAtRedis();
      const file = join(place.directory, 'a-file');
      await writeFile(file, '');
      // Whether it needs a development key is known once Redis has answered.
      const process = place.run({ command, env: { DATA_DIR: file, REDIS_URL: place.redis.url } });
      expect(await lastWords(process, 2)).toEqual([expect.stringContaining(file)]);
    },
  );

  it.each(['start', 'api'] as const)(
    '%s says that it needs a key beyond loopback, and exits with 2',
    async (command) => {
      await using place = await newPlaceAtRedis();
      const process = place.run({ command, env: { HOST: '0.0.0.0', REDIS_URL: place.redis.url } });
      expect(await lastWords(process, 2)).toEqual([
        expect.stringContaining(
          'HOST: is not a loopback address and there is no key; add `keys` to the file',
        ),
      ]);
    },
  );

  it.each(['api', 'worker'] as const)('%s asks for REDIS_URL, and exits with 2', async (command) => {
    await using place = await newPlace();
    const process = place.run({ command });
    expect(await lastWords(process, 2)).toEqual([expect.stringContaining('REDIS_URL')]);
  });
});
