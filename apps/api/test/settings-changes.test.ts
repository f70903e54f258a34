import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSettings } from '@sluice/config';
import { createLogger } from '@sluice/runtime';
import { eventually, latch, testRedis, type TestRedis } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiProcess } from '../src/api-process.ts';
import { leaseHere } from './lease-here.ts';
import { actionToken } from './test-admin.ts';

let redis: TestRedis;
let directory: string;
let api: ApiProcess;
let url: string;
let adminUrl: string;
let logged: string[];

/** Starts an api whose settings file is the given text, and is looked at all the time. */
async function start(text: string): Promise<void> {
  await save(text);
  const { settings, watch } = openSettings({
    env: {
      ...{ REDIS_URL: redis.url, DATA_DIR: join(directory, 'data'), PORT: '0', ADMIN_PORT: '0' },
      ADMIN_ACTION_TOKEN: actionToken,
    },
    argv: ['--config', join(directory, 'sluice.yaml')],
    cwd: directory,
    role: 'api',
  });
  const ready = latch<{ url: string; adminUrl: string }>();
  logged = [];
  api = new ApiProcess({
    settings: { ...settings, redisUrl: redis.url, keyPrefix: `${redis.prefix}:` },
    watch: (options) => watch({ ...options, intervalMs: 5 }),
    logger: createLogger({ name: 'api', level: 'info', destination: { write: (line) => logged.push(line) } }),
    onReady: (listening) => ready.open(listening),
    replaced: { leaseOver: leaseHere },
  });
  await api.start(new AbortController().signal);
  ({ url, adminUrl } = await ready.wait());
}

/** Replaces the file in one step, so that nobody reads half of it. */
async function save(text: string): Promise<void> {
  await writeFile(join(directory, 'new.yaml'), text);
  await rename(join(directory, 'new.yaml'), join(directory, 'sluice.yaml'));
}

async function statusOf(key: string): Promise<number> {
  const answer = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  await answer.text();
  return answer.status;
}

/** Waits until settings have taken effect this many times. */
const changed = (times: number) =>
  eventually(() => logged.filter((line) => line.includes('"settings changed"')).length === times);

beforeEach(async () => {
  redis = await testRedis();
  directory = await mkdtemp(join(tmpdir(), 'sluice-api-'));
});
afterEach(async () => {
  await api.stop('requested');
  await redis.close();
  await rm(directory, { recursive: true, force: true });
});

const own = 'sk-own-0123456789abcdef';
const withKey = (more = '') => `keys: [{ name: own, key: ${own}${more} }]\n`;

describe('an api with a development key', () => {
  it('takes the keys that appear in its file in place of it, and takes it again without them', async () => {
    await start('logLevel: info\n');
    const development = (await readFile(join(directory, 'data', 'development-key'), 'utf8')).trim();
    expect(await statusOf(development)).toBe(200);
    await save(withKey());
    await changed(1);
    expect(await statusOf(own)).toBe(200);
    expect(await statusOf(development)).toBe(401);
    await save('keys: []\n');
    await changed(2);
    expect(await statusOf(development)).toBe(200);
    expect(await statusOf(own)).toBe(401);
  });
});

describe('an api whose settings change', () => {
  it('does not read its file any more once it has stopped', async () => {
    await start(withKey());
    await api.stop('requested');
    const seen = latch();
    const other = openSettings({ env: {}, argv: [], cwd: directory }).watch({
      apply: () => undefined,
      log: { info: () => undefined, warn: () => undefined, error: () => seen.open() },
      intervalMs: 5,
    });
    other.start();
    await save('keys: [\n');
    api.reload();
    await seen.wait();
    await other.stop();
    expect(logged.join('')).not.toContain('refused');
  });

  it('shows, pauses and drains the queue that its only model has left', async () => {
    const withModel = (queue: string) => `${withKey()}models:
  - { id: m, queue: ${queue}, concurrency: 3, routes: [{ provider: local, model: m }] }
providers: [{ id: local, type: simulator }]
`;
    const admin = async (path: string, method = 'GET') => {
      const headers = { 'sluice-action-token': actionToken };
      const answer = await fetch(`${adminUrl}/admin/v1/${path}`, { method, headers });
      return { status: answer.status, body: await answer.json() };
    };
    const scale = async () => (await fetch(`${adminUrl}/scale`)).json() as Promise<{ waiting: number }>;
    await start(withModel('old'));
    const accepted = await fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${own}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', input: 'x', background: true }),
    });
    expect(accepted.status).toBe(200);
    await accepted.text();
    await save(withModel('new'));
    await changed(1);
    const left = { queue: 'old', models: [], waiting: 1, concurrency: 3 };
    expect((await admin('queues')).body).toMatchObject({ data: [{ queue: 'new', models: ['m'] }, left] });
    expect(await scale()).toMatchObject({ waiting: 1, needed_workers: 1 });
    expect(await (await fetch(`${adminUrl}/metrics`)).text()).toContain(
      'sluice_queue_concurrency_limit{queue="old",role="api"} 3',
    );
    expect(await admin('queues/old/pause', 'POST')).toMatchObject({ status: 200, body: { paused: true } });
    expect((await admin('queues/old/drain', 'POST')).status).toBe(200);
    await eventually(async () => (await scale()).waiting === 0);
    expect((await admin('queues/none/pause', 'POST')).body).toMatchObject({ error: { code: 'not_found' } });
  });
});
