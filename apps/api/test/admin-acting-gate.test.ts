import { eventually } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { adminRoutes } from '../src/admin/api/admin-routes.ts';
import { eachTestApi } from './kept-api.ts';
import { eachTestAdmin } from './test-admin.ts';

const api = eachTestApi({ withoutWorker: true });
const admin = eachTestAdmin(api);

const acting = adminRoutes
  .filter(({ acts }) => acts)
  .map(({ method, path, body }) => ({
    method: method as 'GET' | 'POST',
    path: path.replaceAll(/:\w+/g, 'anything'),
    ...(body && { body: body.example }),
  }));
const revealing = { method: 'GET' as const, path: '/responses/anything/events?content=true' };

describe('what changes something or shows content', () => {
  it.each([...acting, revealing])(
    'is refused without the token: $method $path',
    async ({ path, ...asked }) => {
      for (const token of [null, '', 'wrong', 'action-token-of-the-tesT', 'action-token-of-the-test2']) {
        expect(await admin.ask(path, { ...asked, token })).toMatchObject({
          status: 401,
          body: { error: { code: 'invalid_action_token' } },
        });
      }
    },
  );

  it.each([...acting, revealing])(
    'is refused where the service has no token: $method $path',
    async ({ path, ...asked }) => {
      await admin.start({ actionToken: null });
      expect(await admin.ask(path, asked)).toMatchObject({
        status: 403,
        body: { error: { code: 'actions_off' } },
      });
    },
  );

  it.each([
    ['a page elsewhere', { origin: 'http://elsewhere.example' }],
    ['a page on another port', { origin: 'http://localhost:3001' }],
    ['a sandboxed page', { origin: 'null' }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another host of the site', { 'sec-fetch-site': 'same-site' }],
    ['a name that is not loopback', { host: 'evil.example' }],
  ])('is refused to %s, even with the token', async (_who, headers) => {
    for (const { path, ...asked } of acting) {
      expect((await admin.ask(path, { ...asked, headers })).status).toBe(403);
    }
    expect(await admin.audit()).toEqual([]);
  });

  it('leaves an entry with the address of whoever sent a wrong token, and none for no token', async () => {
    for (const token of [null, '', 'wrong', 'wrong again']) {
      await admin.ask('/queues/m/pause', { method: 'POST', token });
    }
    await admin.ask('/session', { token: 'wrong' });
    const entries = await eventually(async () => (await admin.audit()).length > 0 && admin.audit());
    expect(entries).toMatchObject([
      { action: 'token.refused', outcome: 'refused', address: '127.0.0.1', detail: 'wrong token' },
    ]);
    expect(JSON.stringify(entries)).not.toContain('again');
  });

  it('tells a client to wait that has sent many wrong tokens, and still takes the right one', async () => {
    const guess = () => admin.ask('/queues/m/pause', { method: 'POST', token: 'guess' });
    for (let at = 0; at < 20; at += 1) expect((await guess()).status).toBe(401);
    const throttled = await guess();
    expect(throttled).toMatchObject({ status: 429, body: { error: { code: 'rate_limit_exceeded' } } });
    expect(Number(throttled.headers['retry-after'])).toBeGreaterThan(0);
    expect((await admin.ask('/session', { token: 'guess' })).status).toBe(429);
    expect(await admin.ask('/session')).toMatchObject({ status: 200, body: { acting: 'open' } });
    expect((await admin.ask('/session', { token: null })).status).toBe(200);
    expect((await admin.post('/queues/m/pause')).status).toBe(200);
  });

  it('is no business of methods that a path does not take', async () => {
    for (const method of ['GET', 'PUT', 'DELETE'] as const) {
      expect((await admin.ask('/queues/m/pause', { method })).status).toBe(405);
    }
  });
});

describe('a body', () => {
  it.each([
    ['{', 'invalid_json', null],
    ['[]', 'invalid_type', null],
    ['7', 'invalid_type', null],
    ['{}', 'missing_required_parameter', 'action'],
    [{ action: 'erase', filter: {}, expected: 1 }, 'invalid_value', 'action'],
    [{ action: 'cancel', expected: 1 }, 'missing_required_parameter', 'filter'],
    [{ action: 'cancel', filter: {} }, 'missing_required_parameter', 'expected'],
    [{ action: 'cancel', filter: {}, expected: -1 }, 'decimal_below_min_value', 'expected'],
    [{ action: 'cancel', filter: {}, expected: 1.5 }, 'invalid_type', 'expected'],
    [{ action: 'cancel', filter: { status: ['lost'] }, expected: 1 }, 'invalid_value', 'filter.status[0]'],
    [
      { action: 'cancel', filter: { tenants: ['a'] }, expected: 1 },
      'unsupported_parameter',
      'filter.tenants',
    ],
    [{ action: 'cancel', filter: { from: 'now' }, expected: 1 }, 'invalid_type', 'filter.from'],
    [
      { action: 'cancel', filter: { id: 'x'.repeat(129) }, expected: 1 },
      'string_above_max_length',
      'filter.id',
    ],
    [{ action: 'cancel', filter: {}, expected: 1, force: true }, 'unsupported_parameter', 'force'],
  ])('%j is refused by the member that is wrong', async (body, code, param) => {
    expect(await admin.post('/acts', body)).toMatchObject({ status: 400, body: { error: { code, param } } });
  });

  it('of another type is refused', async () => {
    const answer = await admin.ask('/acts', {
      method: 'POST',
      body: 'action=cancel',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(answer).toMatchObject({ status: 415, body: { error: { code: 'unsupported_media_type' } } });
  });

  it('that is too large is refused', async () => {
    const filter = { metadata: Array.from({ length: 200 }, () => 'k:'.padEnd(600, 'v')) };
    const answer = await admin.post('/acts', { action: 'cancel', filter, expected: 1 });
    expect(answer).toMatchObject({ status: 413, body: { error: { code: 'request_too_large' } } });
  });

  it('may be empty where none is needed, whatever its type is called', async () => {
    const answer = await admin.ask('/queues/m/pause', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.status).toBe(200);
  });
});

it('serves the whole document of both APIs', async () => {
  const { status, body } = await admin.ask('/openapi.json', { token: null });
  expect(status).toBe(200);
  expect(Object.keys(body['paths'] as object)).toEqual(
    expect.arrayContaining(['/responses/{id}/cancel', '/admin/v1/responses/{id}/cancel']),
  );
});
