import { request } from 'node:http';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Registry } from 'prom-client';
import { FailedLogins } from './failed-logins.ts';
import { startHealthServer, type HealthServer, type HealthServerOptions } from './health-server.ts';
import { createLogger } from './logger.ts';

const token = 'token-of-the-operator';

/** Holds back an answer, for no time. */
const held = vi.fn(() => Promise.resolve());

async function start(options: Partial<HealthServerOptions> = {}): Promise<HealthServer> {
  const server = await startHealthServer({
    host: '127.0.0.1',
    port: 0,
    portSetting: 'WORKER_HEALTH_PORT',
    hostSetting: 'HOST',
    logger: createLogger({ name: 'test', level: 'silent' }),
    metrics: { registry: new Registry() },
    token: undefined,
    failedLogins: new FailedLogins({ wait: held }),
    readiness: () => ({ isReady: true, checks: { redis: 'ok' } }),
    ...options,
  });
  onTestFinished(() => server.stop());
  return server;
}

async function get({ port }: HealthServer, path: string): Promise<{ status: number; body: string }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return { status: response.status, body: await response.text() };
}

/** The status of the answer to a request with headers of the test's own, of which `fetch` would replace `host`. */
function statusOf(
  { port }: HealthServer,
  path: string,
  headers: Record<string, string>,
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.once('error', reject);
    sent.end();
  });
}

describe('health server', () => {
  it('is alive while it is not ready', async () => {
    const server = await start({ readiness: () => ({ isReady: false, checks: { redis: 'away' } }) });
    expect(await get(server, '/healthz')).toEqual({ status: 200, body: '{"status":"ok"}' });
    expect(await get(server, '/readyz')).toEqual({
      status: 503,
      body: '{"status":"not_ready","checks":{"redis":"away"}}',
    });
  });

  it('says that it is ready', async () => {
    expect(await get(await start(), '/readyz?verbose')).toEqual({
      status: 200,
      body: '{"status":"ready","checks":{"redis":"ok"}}',
    });
  });

  it('counts a check that throws or hangs as not ready', async () => {
    const throwing = await start({ readiness: () => Promise.reject(new Error('secret detail')) });
    expect(await get(throwing, '/readyz')).toEqual({
      status: 503,
      body: '{"status":"not_ready","checks":{}}',
    });
    const hanging = await start({ readiness: () => new Promise(() => undefined) });
    expect(await get(hanging, '/readyz')).toMatchObject({ status: 503 });
  });

  it('serves the registry and nothing else', async () => {
    const server = await start();
    expect((await get(server, '/metrics')).status).toBe(200);
    expect((await get(server, '/')).status).toBe(404);
    const posted = await fetch(`http://127.0.0.1:${server.port}/healthz`, { method: 'POST' });
    expect(posted.status).toBe(405);
  });

  it('shows its metrics to the operator alone, and whether it is well to anybody', async () => {
    const server = await start({ token });
    expect(await statusOf(server, '/metrics', { authorization: `Bearer ${token}` })).toBe(200);
    for (const authorization of ['', 'Bearer wrong']) {
      expect(await statusOf(server, '/metrics', { authorization })).toBe(401);
    }
    for (const path of ['/healthz', '/readyz']) expect(await statusOf(server, path, {})).toBe(200);
  });

  it('asks for the token everywhere but under its health', async () => {
    const server = await start({ token });
    for (const path of ['/', '/metrics', '/nope', '/healthz/', '//healthz']) {
      expect(await statusOf(server, path, {})).toBe(401);
    }
    expect(await statusOf(server, '/nope', { authorization: `Bearer ${token}` })).toBe(404);
  });

  it('throttles wrong tokens, and neither the right one nor health', async () => {
    const server = await start({ token });
    const wrong = { authorization: 'Bearer wrong' };
    for (let at = 0; at < 20; at++) expect(await statusOf(server, '/metrics', wrong)).toBe(401);
    expect(held).not.toHaveBeenCalled();
    expect(await statusOf(server, '/metrics', wrong)).toBe(401);
    expect(held).toHaveBeenCalledOnce();
    expect(await statusOf(server, '/metrics', { authorization: `Bearer ${token}` })).toBe(200);
    expect(await statusOf(server, '/readyz', wrong)).toBe(200);
  });

  it('shows its reports to the operator alone, as JSON', async () => {
    const server = await start({ token, reports: new Map([['/upstreams', () => ({ upstreams: [] })]]) });
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`http://127.0.0.1:${server.port}/upstreams`, { headers });
    expect(answer.headers.get('content-type')).toContain('application/json');
    expect(await answer.json()).toEqual({ upstreams: [] });
    expect(await statusOf(server, '/upstreams', {})).toBe(401);
    expect(await statusOf(server, '/other', headers)).toBe(404);
  });

  it('shows its metrics without a token to whoever names a loopback host', async () => {
    const server = await start();
    expect(await statusOf(server, '/metrics', { host: 'localhost:3002' })).toBe(200);
    expect(await statusOf(server, '/metrics', { host: 'worker:3002' })).toBe(403);
    expect(await statusOf(server, '/healthz', { host: 'worker:3002' })).toBe(200);
  });

  it('names its setting when the port is taken', async () => {
    const { port } = await start();
    await expect(start({ port })).rejects.toThrow('set WORKER_HEALTH_PORT to another port');
  });

  it('stops twice, also with a connection that is kept alive', async () => {
    const server = await start();
    await get(server, '/healthz');
    await server.stop();
    await server.stop();
    await expect(get(server, '/healthz')).rejects.toThrow();
  });
});
