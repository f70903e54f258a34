import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  freePort,
  hasBucketServer,
  hasServer,
  startLocalBucket,
  startLocalCluster,
  testRedis,
} from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { runDoctor } from '../src/doctor/doctor-command.ts';
import type { Finding } from '../src/doctor/finding.ts';
import { runKeys } from '../src/keys/keys-command.ts';
import { runModels } from '../src/models/models-command.ts';
import { runProviders } from '../src/providers/providers-command.ts';
import { noteRunningService } from '../src/running-service.ts';

const cleanups: (() => unknown)[] = [];
let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'sluice-doctor-'));
  cleanups.push(() => rm(cwd, { recursive: true, force: true }));
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

/** An upstream that answers every request in one way, and remembers what it was asked. */
async function upstream(status: number, body: string) {
  const asked: { url: string | undefined; key: string | undefined }[] = [];
  const server = createServer((request, response) => {
    asked.push({ url: request.url, key: request.headers.authorization });
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked };
}

/** The findings of the doctor for a settings file, and its exit code. */
async function examine(settings: object, env: Record<string, string> = {}) {
  await writeFile(join(cwd, 'sluice.yaml'), JSON.stringify(settings));
  return findingsOf(env);
}

/** The same for what is there. */
async function findingsOf(env: Record<string, string>) {
  const lines: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  const failure = await runDoctor(['--json'], { env, cwd }).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  const findings = lines.map((line) => JSON.parse(line) as Finding);
  return { failure, find: (subject: string) => findings.filter((finding) => finding.subject === subject) };
}

const withFile = (modelPath: string) => ({
  providers: [{ id: 'here', type: 'llama-cpp', modelPath }],
  models: [{ id: 'small', routes: [{ provider: 'here', model: 'small' }] }],
});

const settingsFor = (baseUrl: string) => ({
  providers: [{ id: 'gpu', type: 'openai-chat', baseUrl, apiKey: 'sk-upstream-secret' }],
  models: [{ id: 'small', routes: [{ provider: 'gpu', model: 'llama' }] }],
});

describe('sluice doctor', () => {
  it('finds Redis and an upstream that has our model, and shows no secret', async () => {
    const { baseUrl, asked } = await upstream(200, '{"data":[{"id":"llama"},{"id":"other"}]}');
    const { failure, find } = await examine(settingsFor(baseUrl), { REDIS_URL: inject('redisUrl') });
    expect(failure).toBeUndefined();
    expect(find('Redis')).toMatchObject([{ verdict: 'good' }]);
    expect(find('latency')).toHaveLength(1);
    expect(find('writing')).toMatchObject([{ verdict: 'good' }]);
    expect(find('gpu')).toMatchObject([{ verdict: 'good', message: expect.stringContaining('llama') }]);
    expect(asked).toEqual([{ url: '/v1/models', key: 'Bearer sk-upstream-secret' }]);
    expect(JSON.stringify(find('gpu'))).not.toContain('secret');
  });

  it('checks the upstreams of the service that runs with the data folder on a file of its own', async () => {
    const { baseUrl } = await upstream(200, '{"data":[{"id":"llama"}]}');
    const settingsFile = join(cwd, 'discovered.yaml');
    await writeFile(settingsFile, JSON.stringify(settingsFor(baseUrl)));
    noteRunningService(join(cwd, '.data'), {
      ...{ store: inject('redisUrl'), url: '', adminUrl: '' },
      settingsFile,
    });
    vi.spyOn(console, 'error').mockReturnValue(undefined);
    const { failure, find } = await findingsOf({});
    expect(failure).toBeUndefined();
    expect(find('settings')).toMatchObject([{ message: `${settingsFile}; 1 models, 0 keys` }]);
    expect(find('gpu')).toMatchObject([{ verdict: 'good', message: expect.stringContaining('llama') }]);
  });

  it('finds out that this machine lacks what a model in a process needs', async () => {
    const { failure, find } = await examine(withFile(join(cwd, 'none.gguf')));
    expect(failure).toContain('1 to correct');
    expect(find('here')).toMatchObject([
      { verdict: 'bad', message: expect.stringMatching(/npm install node-llama-cpp|no such file/) },
    ]);
  });

  it.each([
    ['finds', 'vllm:num_requests_waiting{model_name="llama"} 0\n', 'good', 'work is held back above 4'],
    ['misses', 'vllm:num_requests_waiting_total 0\n', 'warn', 'has no vllm:num_requests_waiting'],
  ])('%s the metric that says how many wait at an upstream', async (_, page, verdict, message) => {
    const { baseUrl } = await upstream(200, '{"data":[{"id":"llama"}]}');
    const metrics = await upstream(200, page);
    const settings = settingsFor(baseUrl);
    const [provider] = settings.providers;
    const saturation = { metricsUrl: `${metrics.baseUrl}/metrics` };
    const { failure, find } = await examine({ ...settings, providers: [{ ...provider, saturation }] });
    expect(failure).toBeUndefined();
    expect(find('gpu')).toMatchObject([
      { verdict: 'good' },
      { verdict, message: expect.stringContaining(message) },
    ]);
    // It is another host, so our key is not for it.
    expect(metrics.asked).toEqual([{ url: '/v1/metrics', key: undefined }]);
  });

  it('checks each server of a provider, and its metrics at its own host', async () => {
    const page = 'vllm:num_requests_waiting 0\n';
    const [one, other] = [await upstream(200, '{"data":[{"id":"llama"}]}'), await upstream(200, page)];
    const down = `http://127.0.0.1:${await freePort()}/v1`;
    const replicas = [one.baseUrl, `${other.baseUrl}/`, down];
    const saturation = { metricsUrl: one.baseUrl.replace('/v1', '/metrics') };
    const { models } = settingsFor('');
    const { failure, find } = await examine({
      providers: [{ id: 'gpu', type: 'openai-chat', replicas, apiKey: 'sk-upstream-secret', saturation }],
      models,
    });
    expect(failure).toMatch(/^1 to correct/);
    expect(find(`gpu at ${one.baseUrl}`)).toMatchObject([{ verdict: 'good' }, { verdict: 'warn' }]);
    expect(find(`gpu at ${other.baseUrl}`)).toMatchObject([{ verdict: 'warn' }, { verdict: 'good' }]);
    expect(find(`gpu at ${down}`)).toMatchObject([{ verdict: 'bad' }, { verdict: 'warn' }]);
    for (const { asked } of [one, other]) {
      expect(new Set(asked.map(({ url }) => url))).toEqual(new Set(['/metrics', '/v1/models']));
      expect(asked.every(({ key }) => key === 'Bearer sk-upstream-secret')).toBe(true);
    }
  });

  it('says what to correct when Redis does not answer, and goes on', async () => {
    const { baseUrl } = await upstream(200, '{"data":[{"id":"llama"}]}');
    const env = { REDIS_URL: `redis://user:hidden@127.0.0.1:${await freePort()}` };
    const { failure, find } = await examine(settingsFor(baseUrl), env);
    expect(failure).toMatch(/^1 to correct/);
    expect(find('Redis')).toMatchObject([{ verdict: 'bad', message: expect.not.stringContaining('hidden') }]);
    expect(find('upstreams')).toMatchObject([
      { verdict: 'warn', message: expect.stringContaining('stored ones were not read') },
    ]);
    expect(find('gpu')).toMatchObject([{ verdict: 'good' }]);
  });

  it('finds nothing wrong where there is no REDIS_URL: the start brings a store', async () => {
    const { baseUrl } = await upstream(200, '{"data":[{"id":"llama"}]}');
    const { failure, find } = await examine(settingsFor(baseUrl));
    expect(failure).toBeUndefined();
    expect(find('Redis')).toMatchObject([{ verdict: 'good', message: expect.stringContaining('REDIS_URL') }]);
  });

  it('says that a service beyond loopback needs a key, and counts a stored one', async () => {
    const redis = await testRedis();
    cleanups.push(() => redis.close());
    const { baseUrl } = await upstream(200, '{"data":[{"id":"llama"}]}');
    const settings = { ...settingsFor(baseUrl), keyPrefix: `${redis.prefix}:`, server: { host: '0.0.0.0' } };
    const env = { REDIS_URL: redis.url };
    const { failure, find } = await examine(settings, env);
    expect(failure).toMatch(/^1 to correct/);
    expect(find('keys')).toMatchObject([
      { verdict: 'bad', message: expect.stringContaining('made by `sluice keys create`') },
    ]);
    await runKeys(['create', '--tenant', 'a'], { env, cwd });
    await redis.client.hset(`${redis.prefix}:{0}:api-keys`, 'key_junk', '{');
    expect((await examine(settings, env)).find('keys')).toMatchObject([
      { verdict: 'good', message: '0 in the file, and 1 stored that are active' },
      { verdict: 'warn', message: 'key_junk cannot be read and is refused: is not JSON' },
    ]);
  });

  it.each([
    ['refuses our key', 401, '{}', 'bad', /apiKey/],
    ['fails', 502, 'oops', 'bad', /502/],
    ['has another model', 200, '{"data":[{"id":"mistral"}]}', 'warn', /llama.*It has mistral/],
    ['lists no models', 404, 'not here', 'warn', /lists no models/],
    ['answers with anything else', 200, '[]', 'warn', /lists no models/],
  ])('says what to correct when an upstream %s', async (_what, status, body, verdict, message) => {
    const { baseUrl } = await upstream(status, body);
    const { find } = await examine(settingsFor(baseUrl));
    expect(find('gpu')).toMatchObject([{ verdict, message: expect.stringMatching(message) }]);
  });

  it('asks stored upstreams as well, but none whose key is not here', async () => {
    const redis = await testRedis();
    cleanups.push(() => redis.close());
    const { baseUrl } = await upstream(200, '{"data":[{"id":"llama"}]}');
    const stored = await upstream(200, '{"data":[{"id":"mistral"}]}');
    const settings = { ...settingsFor(baseUrl), keyPrefix: `${redis.prefix}:` };
    const env = { REDIS_URL: redis.url };
    await examine(settings, env);
    const at = ['--type', 'openai-chat', '--base-url', stored.baseUrl, '--api-key-variable', 'UPSTREAM_B'];
    await runProviders(['add', 'later', ...at], { env, cwd });
    await runModels(['add', 'large', '--route', 'later:qwen'], { env, cwd });
    const without = await examine(settings, env);
    expect(without.find('upstreams')).toMatchObject([
      { verdict: 'good', message: 'asks 1 of the settings file, and 1 stored' },
    ]);
    expect(without.find('later')).toMatchObject([
      { verdict: 'warn', message: expect.stringContaining('UPSTREAM_B') },
    ]);
    expect(stored.asked).toEqual([]);
    const { find } = await examine(settings, { ...env, UPSTREAM_B: 'sk-b' });
    expect(find('later')).toMatchObject([
      { verdict: 'warn', message: expect.stringMatching(/does not list qwen.*It has mistral/) },
    ]);
    expect(find('gpu')).toMatchObject([{ verdict: 'good' }]);
    expect(stored.asked).toEqual([{ url: '/v1/models', key: 'Bearer sk-b' }]);
  });

  it('looks whether the package of a provider is installed, and sends nothing', async () => {
    const routes = [{ provider: 'vendor' }];
    const examined = (name: string) =>
      examine({
        providers: [{ id: 'vendor', type: 'ai-sdk', package: name, options: { apiKey: 'sk-secret' } }],
        models: [{ id: 'm', routes }],
      });
    const installed = await examined('@ai-sdk/anthropic');
    expect(installed.failure).toBeUndefined();
    expect(installed.find('vendor')).toMatchObject([{ verdict: 'good' }]);
    const missing = await examined('@example/not-installed');
    expect(missing.failure).toMatch(/^1 to correct/);
    expect(missing.find('vendor')).toMatchObject([
      { verdict: 'bad', message: expect.stringContaining('npm install @example/not-installed') },
    ]);
  });

  it('says what to correct when nothing listens where an upstream should be', async () => {
    const { failure, find } = await examine(settingsFor(`http://127.0.0.1:${await freePort()}/v1`));
    expect(failure).toMatch(/^1 to correct/);
    expect(find('gpu')).toMatchObject([
      { verdict: 'bad', message: expect.stringMatching(/ECONNREFUSED.*baseUrl/) },
    ]);
  });

  it.skipIf(!hasServer)('finds the primary of a cluster, and says what it cannot do', async () => {
    const cluster = await startLocalCluster();
    cleanups.push(() => cluster.stop());
    const [seed] = cluster.nodes;
    const { find } = await examine({}, { REDIS_URL: `redis://127.0.0.1:${seed?.port}?cluster` });
    expect(find('writing')).toMatchObject([{ verdict: 'good' }]);
    expect(find('cluster')).toMatchObject([{ message: expect.stringContaining('one slot') }]);
    const plain = await examine({}, { REDIS_URL: `redis://127.0.0.1:${seed?.port}` });
    expect(plain.find('durability')).toContainEqual(
      expect.objectContaining({ verdict: 'bad', message: expect.stringContaining('?cluster') }),
    );
  });

  it('looks at each cell, and says when two are at one server', async () => {
    const url = inject('redisUrl');
    const { find } = await examine({}, { REDIS_URL: `${url} ${url}?cell=E` });
    for (const cell of ['0', 'E'])
      expect(find('writing')).toContainEqual(
        expect.objectContaining({ verdict: 'good', message: expect.stringContaining(`cell ${cell}: `) }),
      );
    expect(find('cells')).toMatchObject([
      { verdict: 'warn', message: expect.stringContaining('cells 0, E') },
    ]);
    const lost = await examine({}, { REDIS_URL: `${url} redis://127.0.0.1:${await freePort()}?cell=E` });
    expect(lost.find('Redis')).toContainEqual(
      expect.objectContaining({ verdict: 'bad', message: expect.stringContaining('cell E: ') }),
    );
  });

  it('writes a file where files are, and leaves nothing', async () => {
    const folder = join(cwd, 'files');
    const files = { enabled: true, folder };
    const { find } = await examine({ files }, { REDIS_URL: inject('redisUrl') });
    expect(find('files')).toMatchObject([
      { verdict: 'good', message: expect.stringContaining('the folder') },
    ]);
    const left = await readdir(folder, { recursive: true, withFileTypes: true });
    expect(left.filter((entry) => entry.isFile())).toEqual([]);
    await writeFile(join(cwd, 'a-file'), '');
    const wrong = { enabled: true, folder: join(cwd, 'a-file') };
    const other = await examine({ files: wrong }, { REDIS_URL: inject('redisUrl') });
    expect(other.find('files')).toMatchObject([{ verdict: 'bad' }]);
    expect(await examine({}, { REDIS_URL: inject('redisUrl') }).then((all) => all.find('files'))).toEqual([]);
  });

  it.skipIf(!hasBucketServer)(
    'writes into a bucket, where there is a server of S3 such as rclone',
    async () => {
      const bucket = await startLocalBucket();
      cleanups.push(() => bucket.stop());
      const filesOf = (more: object) => ({
        files: { enabled: true, bucket: { ...bucket.settings, ...more } },
      });
      const env = { REDIS_URL: inject('redisUrl') };
      const good = await examine(filesOf({}), env);
      expect(good.find('files')).toMatchObject([
        { verdict: 'good', message: expect.stringContaining('bucket') },
      ]);
      for (const wrong of [{ name: 'absent' }, { secretAccessKey: 'another-secret' }]) {
        const { find } = await examine(filesOf(wrong), env);
        expect(find('files')).toMatchObject([{ verdict: 'bad' }]);
        expect(JSON.stringify(find('files'))).not.toContain('secret');
      }
    },
  );
});
