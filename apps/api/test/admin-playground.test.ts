import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { eventually, freePort, latch, readSse, within } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';
import { actionToken, eachTestAdmin } from './test-admin.ts';

const api = eachTestApi();
const admin = eachTestAdmin(api);

const withKey = { 'sluice-api-key': apiKeys.first, 'content-type': 'application/json' };
const post = (path: string, body: object, more: RequestInit = {}) =>
  admin.fetch(`/playground${path}`, {
    method: 'POST',
    headers: withKey,
    body: JSON.stringify(body),
    ...more,
  });

/** In place of the API: does what the test says. */
async function behind(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Server> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  await admin.start({ apiUrl: `http://127.0.0.1:${port}` });
  return server;
}

describe('the playground', () => {
  it('creates, reads, lists and deletes responses with the key of the request', async () => {
    const created = await post('/v1/responses', { model, input: 'Hi' });
    expect(created.status).toBe(200);
    const { id } = (await created.json()) as { id: string };
    for (const path of [`/v1/responses/${id}`, '/v1/responses?limit=1', `/v1/responses/${id}/input_items`]) {
      const read = await admin.fetch(`/playground${path}`, { headers: withKey });
      expect([path, read.status]).toEqual([path, 200]);
    }
    expect((await admin.fetch('/playground/v1/models/vendor/model', { headers: withKey })).status).toBe(200);
    expect((await admin.fetch('/playground/v1/models/vendor%2Fmodel', { headers: withKey })).status).toBe(
      200,
    );
    expect((await post('/v1/responses/input_tokens', { model, input: 'Hi' })).status).toBe(200);
    const removed = await admin.fetch(`/playground/v1/responses/${id}`, {
      method: 'DELETE',
      headers: withKey,
    });
    expect(removed.status).toBe(200);
    expect((await api.get(`/v1/responses/${id}`)).status).toBe(404);
    // Nothing of that is an operator's act.
    expect(await admin.audit()).toEqual([]);
  });

  it('gives back request ids and limits, and is no other listener by that', async () => {
    const answer = await post(
      '/v1/responses',
      { model, input: 'Hi' },
      { headers: { ...withKey, 'sluice-api-key': apiKeys.limited, 'x-request-id': 'mine-1' } },
    );
    expect(answer.headers.get('x-request-id')).toBe('mine-1');
    expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('2');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'self'");
  });

  it('streams', async () => {
    const answer = await post('/v1/responses', { model, input: 'Hi', stream: true });
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const read = await readSse(await answer.text());
    expect([read.done, read.problems]).toEqual([true, []]);
  });

  it('leaves with its browser, while it waits and in the middle of a stream', async () => {
    for (const stream of [false, true]) {
      const { begun } = api.worker.hold('Hello');
      const leaving = new AbortController();
      const asked = post('/v1/responses', { model, input: 'Hi', stream }, { signal: leaving.signal });
      asked.catch(() => undefined);
      const { cancelled } = await begun.wait();
      if (stream) await (await asked).body?.getReader().read();
      leaving.abort();
      await eventually(() => cancelled.aborted);
    }
    await eventually(() => api.open.size === 0);
  });

  it.each([undefined, '', 'wrong', 'a b', `${apiKeys.first}, ${apiKeys.first}`])(
    'is refused by the API without a good key: %j',
    async (key) => {
      const headers = {
        'content-type': 'application/json',
        ...(key !== undefined && { 'sluice-api-key': key }),
      };
      const answer = await post('/v1/responses', { model, input: 'Hi' }, { headers });
      expect(answer.status).toBe(401);
      expect(await answer.json()).toMatchObject({ error: { code: 'invalid_api_key' } });
      // It would make a browser ask for a password of this listener.
      expect(answer.headers.get('www-authenticate')).toBeNull();
    },
  );

  it('passes on no credential of its own listener, and nothing of the connection', async () => {
    const seen: IncomingMessage['headers'][] = [];
    const server = await behind((request, response) => {
      seen.push(request.headers);
      response.writeHead(200, { 'set-cookie': 'a=b', 'x-other': 'kept', 'clear-site-data': '"*"' });
      response.end('{}');
    });
    const answer = await admin.fetch('/playground/v1/models', {
      headers: {
        ...withKey,
        authorization: 'Bearer admin-token',
        cookie: 'a=b',
        'sluice-action-token': actionToken,
        'x-forwarded-for': '10.0.0.1',
        'proxy-authorization': 'Basic x',
        te: 'trailers',
      },
    });
    expect(Object.keys(seen[0] ?? {}).toSorted()).toEqual([
      ...['accept', 'authorization', 'connection', 'content-type', 'host'],
    ]);
    expect(seen[0]?.authorization).toBe(`Bearer ${apiKeys.first}`);
    expect([answer.headers.get('set-cookie'), answer.headers.get('clear-site-data')]).toEqual([null, null]);
    expect(answer.headers.get('x-other')).toBe('kept');
    server.close();
  });

  it('is as slow as its browser', async () => {
    let written = 0;
    const chunk = Buffer.alloc(1024 * 1024);
    const full = latch();
    const server = await behind((_request, response) => {
      response.writeHead(200);
      const more = () => {
        while (written < 512) {
          written += 1;
          if (response.write(chunk)) continue;
          full.open();
          response.once('drain', more);
          return;
        }
        response.end();
      };
      more();
    });
    const answer = await admin.fetch('/playground/v1/models', { headers: withKey });
    await full.wait();
    // What is under way fits into the buffers of sockets.
    expect(written).toBeLessThan(256);
    await answer.body?.cancel();
    server.closeAllConnections();
    server.close();
  });

  it('bounds a body, announced or not', async () => {
    const body = Buffer.alloc(api.live.limits.bodyBytes + 1, 120);
    const announced = await admin.fetch('/playground/v1/responses', {
      method: 'POST',
      headers: withKey,
      body,
    });
    expect(announced.status).toBe(413);
    const pieces = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < body.length; at += 65_536) controller.enqueue(body.subarray(at, at + 65_536));
        controller.close();
      },
    });
    const init = { method: 'POST', headers: withKey, body: pieces, duplex: 'half' } as RequestInit;
    expect((await admin.fetch('/playground/v1/responses', init)).status).toBe(413);
  });

  it('says when the API does not answer', async () => {
    await admin.start({ apiUrl: `http://127.0.0.1:${await freePort()}` });
    expect(await admin.ask('/playground/v1/models', { headers: withKey })).toMatchObject({
      status: 503,
      body: { error: { code: 'server_is_overloaded' } },
    });
  });

  it('is bounded in number', async () => {
    const held: ServerResponse[] = [];
    const server = await behind((_request, response) => void held.push(response));
    const leaving = new AbortController();
    const asked = Array.from({ length: 64 }, () =>
      admin
        .fetch('/playground/v1/models', { headers: withKey, signal: leaving.signal })
        .catch(() => undefined),
    );
    await eventually(() => held.length === 64);
    expect((await admin.fetch('/playground/v1/models', { headers: withKey })).status).toBe(503);
    leaving.abort();
    await Promise.all(asked);
    held.length = 0;
    await eventually(async () => {
      const again = admin.fetch('/playground/v1/models', { headers: withKey });
      await Promise.race([again, eventually(() => held.length > 0)]);
      held.at(-1)?.end('{}');
      return (await again).status === 200;
    });
    server.closeAllConnections();
    server.close();
  });
});

describe('a path of the playground', () => {
  /** Asks as no client library would: the path goes out byte for byte. */
  async function raw(target: string): Promise<string> {
    const url = new URL((await admin.fetch('/session')).url);
    const socket = connect(Number(url.port), url.hostname);
    socket.write(
      `GET ${target} HTTP/1.1\r\nhost: ${url.host}\r\nsluice-api-key: ${apiKeys.first}\r\nconnection: close\r\n\r\n`,
    );
    return within(text(socket));
  }

  it.each([
    '/v1/other',
    '/v1',
    '/v2/responses',
    '/api/v1/responses',
    '/healthz',
    '/docs',
    '/v1/responsesx',
    '/v1/responses/../../healthz',
    '/v1/responses/%2e%2e/%2e%2e/healthz',
    '/v1/responses/.%2e/../healthz',
    '/v1/responses\\..\\..\\healthz',
    '//elsewhere.example/v1/responses',
    '/http://elsewhere.example/v1/responses',
    'http://elsewhere.example/v1/responses',
    '/@elsewhere.example/v1/responses',
    '/v1/%72esponses/../../healthz',
  ])('%s leads nowhere', async (path) => {
    const target = path.startsWith('http') ? path : `/admin/v1/playground${path}`;
    const answer = await raw(target);
    expect(answer).toMatch(/^HTTP\/1.1 4\d\d /);
    expect(answer).not.toContain('"checks"');
    expect(answer).not.toContain('"data"');
  });

  it('takes no other method', async () => {
    for (const method of ['PUT', 'PATCH']) {
      expect((await admin.fetch('/playground/v1/responses', { method, headers: withKey })).status).toBe(405);
    }
  });
});
