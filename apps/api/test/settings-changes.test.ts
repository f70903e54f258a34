import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSettings } from '@sluice/config';
import { createLogger } from '@sluice/runtime';
import { eventually, latch, testRedis, type TestRedis } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiProcess } from '../src/api-process.ts';
import { leaseHere } from './lease-here.ts';

let redis: TestRedis;
let directory: string;
let api: ApiProcess;
let url: string;
let logged: string[];

/** Starts an api whose settings file is the given text, and is looked at all the time. */
async function start(text: string): Promise<void> {
  await save(text);
  const { settings, watch } = openSettings({
    env: { REDIS_URL: redis.url, DATA_DIR: join(directory, 'data'), PORT: '0', ADMIN_PORT: '0' },
    argv: ['--config', join(directory, 'sluice.yaml')],
    cwd: directory,
    role: 'api',
  });
  const ready = latch<string>();
  logged = [];
  api = new ApiProcess({
    settings: { ...settings, redisUrl: redis.url, keyPrefix: `${redis.prefix}:` },
    watch: (options) => watch({ ...options, intervalMs: 5 }),
    logger: createLogger({ name: 'api', level: 'info', destination: { write: (line) => logged.push(line) } }),
    onReady: (listening) => ready.open(listening.url),
    replaced: { leaseOver: leaseHere },
  });
  await api.start(new AbortController().signal);
  url = await ready.wait();
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
});
