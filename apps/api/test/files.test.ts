import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, testRedis, type TestRedis } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { processSettings, startApi } from './api-process-site.ts';
import { apiKeys } from './test-api.ts';

const headers = { authorization: `Bearer ${apiKeys.first}` };

let redis: TestRedis;
let dataDir: string;
let stop: () => Promise<void>;
let url: string;

beforeEach(async () => {
  redis = await testRedis();
  dataDir = await mkdtemp(join(tmpdir(), 'sluice-api-'));
  const settings = processSettings(redis.url, redis.prefix);
  const files = { ...settings.files, enabled: true, bytes: 1_000 };
  ({ url, stop } = await startApi({ settings: { ...settings, dataDir, files } }));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await stop();
  await redis.close();
  await rm(dataDir, { recursive: true, force: true });
});

async function post(): Promise<Response> {
  const body = new FormData();
  body.set('purpose', 'user_data');
  body.set('expires_after[anchor]', 'created_at');
  body.set('expires_after[seconds]', '3600');
  body.set('file', new File(['Hello'], 'a.txt'));
  return fetch(`${url}/v1/files`, { method: 'POST', headers, body });
}

async function upload(): Promise<string> {
  return ((await (await post()).json()) as { id: string }).id;
}

/** Begins an upload that says how long it is, and goes on no further. */
function beginUpload(): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const head = [
    'POST /v1/files HTTP/1.1',
    ...['Host: a', `Authorization: ${headers.authorization}`],
    ...['Content-Type: multipart/form-data; boundary=x', 'Content-Length: 1500', ''],
    ...['--x', 'Content-Disposition: form-data; name="file"; filename="a.bin"', '', 'He'],
  ];
  socket.write(head.join('\r\n'));
  return socket;
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

  it('is refused while the uploads of its tenant that are under way have said to be as large as they may be together', async () => {
    const sockets = [beginUpload(), beginUpload()];
    // Those that come before these two are taken.
    const answer = await eventually(async () => {
      const asked = await post();
      return asked.status !== 200 && asked;
    });
    expect(answer.status).toBe(429);
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(await answer.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    for (const socket of sockets) socket.destroy();
    await eventually(async () => (await post()).status === 200);
  });
});
