import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@sluice/runtime';
import { latch, testRedis, type TestRedis } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ApiAddresses, ApiProcess } from '../src/api-process.ts';
import { apiKeys, testSettings } from './test-api.ts';

const headers = { authorization: `Bearer ${apiKeys.first}` };

let redis: TestRedis;
let dataDir: string;
let api: ApiProcess;
let url: string;

beforeEach(async () => {
  redis = await testRedis();
  dataDir = await mkdtemp(join(tmpdir(), 'sluice-api-'));
  const settings = testSettings(redis.url, redis.prefix, {});
  const ready = latch<ApiAddresses>();
  api = new ApiProcess({
    settings: {
      ...settings,
      dataDir,
      redisUrl: redis.url,
      files: { ...settings.files, enabled: true },
    },
    logger: createLogger({ name: 'api', level: 'silent' }),
    onReady: (addresses) => ready.open(addresses),
  });
  await api.start(new AbortController().signal);
  ({ url } = await ready.wait());
});
afterEach(async () => {
  vi.restoreAllMocks();
  await api.stop('requested');
  await redis.close();
  await rm(dataDir, { recursive: true, force: true });
});

async function upload(): Promise<string> {
  const body = new FormData();
  body.set('purpose', 'user_data');
  body.set('expires_after[anchor]', 'created_at');
  body.set('expires_after[seconds]', '3600');
  body.set('file', new File(['Hello'], 'a.txt'));
  const answer = await fetch(`${url}/v1/files`, { method: 'POST', headers, body });
  return ((await answer.json()) as { id: string }).id;
}

const statusOf = async (id: string) => (await fetch(`${url}/v1/files/${id}`, { headers })).status;

describe('a file', () => {
  it('expires by the clock of the store, whatever that of the machine says', async () => {
    const now = Date.now();
    const id = await upload();
    vi.spyOn(Date, 'now').mockReturnValue(now + 2 * 3_600_000);
    expect(await statusOf(id)).toBe(200);
    vi.spyOn(Date, 'now').mockReturnValue(now - 2 * 3_600_000);
    expect(await statusOf(await upload())).toBe(200);
  });
});
