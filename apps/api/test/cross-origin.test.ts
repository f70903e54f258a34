import { connect } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { startableTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';

const api = startableTestApi();

const page = 'https://chat.example.com';
const authorization = `Bearer ${apiKeys.first}`;
const asked =
  'authorization,content-type,idempotency-key,last-event-id,openai-organization,x-stainless-retry-count';

const preflight = (url: string, { origin = page, method = 'POST' } = {}) =>
  api.app.inject({
    method: 'OPTIONS',
    url,
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': asked,
    },
  });

describe.each(['/v1', '/api/v1'])('a page of an origin that is allowed, at %s', (mount) => {
  it('may call with the headers that clients send, and needs no key to ask', async () => {
    await api.start({ corsOrigins: [page], withoutWorker: true });
    for (const [path, method] of [
      ['/responses', 'POST'],
      ['/responses/x', 'DELETE'],
      ['/responses/x/events', 'GET'],
    ] as const) {
      const { statusCode, headers, body } = await preflight(`${mount}${path}`, { method });
      expect({ statusCode, body }).toEqual({ statusCode: 204, body: '' });
      expect(headers).toMatchObject({
        vary: 'origin',
        'access-control-allow-origin': page,
        'access-control-allow-methods': 'GET, POST, DELETE',
        'access-control-allow-headers': asked,
      });
      expect(headers).not.toHaveProperty('access-control-allow-credentials');
    }
  });

  it('reads every answer: a response, its streams, and each refusal', async () => {
    await api.start({ corsOrigins: ['http://localhost:5173', page] });
    const base = await api.listen();
    const ask = (
      path: string,
      init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {},
    ) =>
      fetch(`${base}${mount}${path}`, { ...init, headers: { authorization, origin: page, ...init.headers } });
    const post = (body: object, key = apiKeys.first) =>
      ask('/responses', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, input: 'Hello.', ...body }),
      });
    const whole = await post({});
    const { id } = (await whole.json()) as { id: string };
    const answers = {
      200: whole,
      stream: await post({ stream: true }),
      events: await ask(`/responses/${id}/events?offset=-1&live=sse`),
      400: await post({ model: 'nobody' }),
      401: await post({}, 'sk-wrong'),
      404: await ask('/responses/x'),
      'no route': await ask('/nothing'),
      405: await ask('/responses', { method: 'PUT' }),
      415: await ask('/responses', { method: 'POST', body: '{}', headers: { 'content-type': 'text/plain' } }),
      'a broken path': await ask('/%E0%A4'),
    };
    for (let at = 0; at < 2; at++) await post({}, apiKeys.limited);
    const limited = await post({}, apiKeys.limited);
    api.memory.usedPercent = 100;
    const full = await post({});
    for (const [what, { headers }] of Object.entries({ ...answers, 429: limited, 503: full })) {
      expect([what, headers.get('access-control-allow-origin')]).toEqual([what, page]);
      expect([what, headers.get('access-control-expose-headers')]).toEqual([what, '*']);
      expect([what, headers.get('vary')]).toEqual([what, 'origin']);
    }
    expect([answers[401], limited, full].map(({ status }) => status)).toEqual([401, 429, 503]);
    for (const { body } of Object.values(answers)) if (body?.locked === false) await body.cancel();
  });
});

describe('a page of another origin', () => {
  it('is told nothing, and its request is answered as that of any client', async () => {
    await api.start({ corsOrigins: [page], withoutWorker: true });
    const other = { authorization, origin: 'https://chat.example.com.evil.example' };
    const { statusCode, headers } = await api.app.inject({ url: '/v1/models', headers: other });
    expect(statusCode).toBe(200);
    expect(headers['vary']).toBe('origin');
    expect(headers).not.toHaveProperty('access-control-allow-origin');
    expect((await preflight('/v1/responses', { origin: other.origin })).statusCode).toBe(405);
  });

  it('is one like all where any origin may call', async () => {
    await api.start({ corsOrigins: ['*'], withoutWorker: true });
    const { headers } = await preflight('/v1/responses', { origin: 'null' });
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(headers).not.toHaveProperty('vary');
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
  });

  it('is told nothing beside the mounts', async () => {
    await api.start({ corsOrigins: ['*'], withoutWorker: true });
    for (const url of ['/openapi.json', '/healthz', '/v1x', '/']) {
      const { headers } = await api.app.inject({ url, headers: { origin: page } });
      expect(headers).not.toHaveProperty('access-control-allow-origin');
    }
  });
});

it('names no header to a preflight that lists none in their form', async () => {
  await api.start({ corsOrigins: ['*'], withoutWorker: true });
  const { hostname, port } = new URL(await api.listen());
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const lines = ['OPTIONS /v1/models HTTP/1.1', 'host: x', 'origin: http://a', 'connection: close'];
  lines.push('access-control-request-method: GET', 'access-control-request-headers: a, <script>\xff', '', '');
  socket.write(Buffer.from(lines.join('\r\n'), 'latin1'));
  const answer = await text(socket);
  expect(answer).toMatch(/^HTTP\/1.1 204/);
  expect(answer).not.toMatch(/allow-headers|script/);
});

it('adds nothing to any answer unless the settings name an origin', async () => {
  await api.start({ withoutWorker: true });
  const { headers } = await api.app.inject({ url: '/v1/models', headers: { authorization, origin: page } });
  expect(Object.keys(headers).filter((name) => /^access-control|^vary$/.test(name))).toEqual([]);
  expect((await preflight('/v1/responses')).statusCode).toBe(405);
});
