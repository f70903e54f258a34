import { eventually, freePort, type LocalRedis, startLocalRedis, within } from '@sluice/testing';
import { afterEach, expect, it } from 'vitest';
import { launchApi, postResponse, processSettings } from './api-process-site.ts';
import { apiKeys } from './test-api.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Starts an api for a Redis on this port of 127.0.0.1, and does not wait for it. */
function startApi(port: number) {
  const api = launchApi({ settings: processSettings(`redis://127.0.0.1:${port}`, 'late:') });
  cleanups.push(api.stop);
  return api;
}

const create = (url: string, body: object = { background: true }) => postResponse(url, body);

const statusOf = async (url: string) => (await fetch(url)).status;

it('answers before Redis is there, refuses what needs Redis, and goes on by itself when it is', async () => {
  const port = await freePort();
  const { started, listening, ready, lines } = startApi(port);
  const { url, adminUrl } = await listening.wait();
  expect(await statusOf(`${url}/healthz`)).toBe(200);
  expect(await statusOf(`${url}/readyz`)).toBe(503);
  for (const body of [{ background: true }, { stream: true }, {}]) {
    const refused = await create(url, body);
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { code: 'server_is_overloaded' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  }
  expect((await create(url, { temperature: 9 })).status).toBe(400);
  const headers = { authorization: `Bearer ${apiKeys.first}` };
  const read = await fetch(`${url}/v1/responses/create-response_${'a'.repeat(32)}`, { headers });
  expect(read.status).toBe(503);
  expect((await fetch(`${url}/v1/models`, { headers })).status).toBe(200);
  expect(await within(statusOf(`${adminUrl}/metrics`))).toBe(200);
  // Longer than a process once waited before it gave up.
  await eventually(() => lines.some((line) => line.includes('waiting for redis')));

  const redis: LocalRedis = await startLocalRedis({ port });
  cleanups.push(() => redis.stop());
  await ready.wait();
  await started;
  expect((await create(url)).status).toBe(200);
  expect(await statusOf(`${url}/readyz`)).toBe(200);
  expect(lines.filter((line) => line.includes('waiting for redis'))).toEqual([
    expect.stringContaining('ECONNREFUSED'),
  ]);
  expect(lines.join('')).not.toContain('redis connection failed');
});

it('stops while it waits for Redis', async () => {
  const { api, started, stopping, listening } = startApi(await freePort());
  const { url } = await listening.wait();
  stopping.abort(new Error('asked to stop'));
  await expect(started).rejects.toThrow('asked to stop');
  await within(api.stop('requested'));
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
});
