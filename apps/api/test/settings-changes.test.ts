import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSettings } from '@sluice/config';
import { eventually, latch, testRedis, type TestRedis } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ApiProcess } from '../src/api-process.ts';
import { leaseHere, postResponse, saveSettings, settingsOfFile, startApi } from './api-process-site.ts';
import { actionToken } from './test-admin.ts';

let redis: TestRedis;
let directory: string;
let api: ApiProcess;
let url: string;
let adminUrl: string;
let lines: string[];

/** Starts an api whose settings file is the given text, and is looked at all the time. */
async function start(text: string): Promise<void> {
  await save(text);
  const file = settingsOfFile(directory, { redis, env: { ADMIN_ACTION_TOKEN: actionToken } });
  ({ api, url, adminUrl, lines } = await startApi({ ...file, replaced: { leaseOver: leaseHere } }));
}

const save = (text: string) => saveSettings(directory, text);

async function statusOf(key: string): Promise<number> {
  const answer = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  await answer.text();
  return answer.status;
}

/** Waits until settings have taken effect this many times. */
const changed = (times: number) =>
  eventually(() => lines.filter((line) => line.includes('"settings changed"')).length === times);

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
    expect(lines.join('')).not.toContain('refused');
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
    const accepted = await postResponse(url, { background: true }, { key: own });
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
