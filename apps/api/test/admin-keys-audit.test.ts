import { hashKey } from '@sluice/config';
import { adminRoutes } from '../src/admin/api/admin-routes.ts';
import { eventually, startRedisProxy, testRedis, within } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { model } from './test-api.ts';
import { eachTestAdmin } from './test-admin.ts';

const api = eachTestApi({ withoutWorker: true });
const admin = eachTestAdmin(api);

const storedKeys = () => api.redis.client.hgetall(`${api.keys.prefix}api-keys`);

describe('making a key', () => {
  it('tells it once, and keeps its hash alone', async () => {
    const { status, body } = await admin.post('/keys', {
      tenant: 'team',
      models: [model],
      tiers: ['flex'],
      weight: 3,
      limits: { requestsPerMinute: 5 },
      expiresAt: '2999-01-31',
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ object: 'issued_key', tenant: 'team', is_safe: true });
    const key = String(body['key']);
    expect(JSON.parse((await storedKeys())[String(body['id'])] ?? '')).toMatchObject({
      name: 'team',
      hash: `sha256:${hashKey(key)}`,
      models: [model],
      tiers: ['flex'],
      weight: 3,
      limits: { requestsPerMinute: 5 },
      expiresAt: '2999-01-31T00:00:00.000Z',
    });
    const told = [JSON.stringify(await storedKeys()), JSON.stringify(await admin.audit()), ...api.logged];
    expect(told.join('\n')).not.toContain(key);
    expect(await admin.audit()).toMatchObject([
      { action: 'key.create', target: 'team', outcome: 'done', detail: body['id'] },
      { action: 'key.create', target: 'team', outcome: 'asked' },
    ]);
  });

  it.each([
    [{}, 'missing_required_parameter', 'tenant'],
    [{ tenant: '' }, 'invalid_value', 'tenant'],
    [{ tenant: 7 }, 'invalid_type', 'tenant'],
    [{ tenant: 'a\nb' }, 'invalid_value', 'tenant'],
    [{ tenant: 'team', models: 'all' }, 'invalid_value', 'models'],
    [{ tenant: 'team', models: [] }, 'invalid_value', 'models'],
    [{ tenant: 'team', tiers: ['fast'] }, 'invalid_value', 'tiers[0]'],
    [{ tenant: 'team', weight: -1 }, 'invalid_value', 'weight'],
    [{ tenant: 'team', limits: { requestsPerMinute: 0 } }, 'invalid_value', 'limits.requestsPerMinute'],
    [{ tenant: 'team', limits: { requestPerMinute: 1 } }, 'invalid_value', 'limits.requestPerMinute'],
    [{ tenant: 'team', expiresAt: '2020-01-01' }, 'invalid_value', 'expiresAt'],
    [{ tenant: 'team', expiresAt: 'soon' }, 'invalid_value', 'expiresAt'],
    [{ tenant: 'team', nothing: 1 }, 'invalid_value', 'nothing'],
    [{ tenant: 'team', key: 'sk-of-mine' }, 'unsupported_parameter', 'key'],
    [{ tenant: 'team', hash: `sha256:${'0'.repeat(64)}` }, 'unsupported_parameter', 'hash'],
    [{ tenant: 'team', disabled: true }, 'unsupported_parameter', 'disabled'],
    [{ tenant: 'team', name: 'other' }, 'unsupported_parameter', 'name'],
    // The file says two.
    [{ tenant: 'limited', limits: { requestsPerMinute: 3 } }, 'invalid_value', 'limits.requestsPerMinute'],
  ])('%j is refused by the member that is wrong', async (body, code, param) => {
    const answer = await admin.post('/keys', body);
    expect(answer).toMatchObject({ status: 400, body: { error: { code, param } } });
    expect(answer.text).not.toContain('sk-of-mine');
    expect(await storedKeys()).toEqual({});
  });

  it('names every rule that is wrong in one message', async () => {
    const { body } = await admin.post('/keys', { tenant: 'team', weight: -1, limits: { queued: 0 } });
    expect(body).toMatchObject({ error: { message: expect.stringMatching(/'weight' .*'limits\.queued' /) } });
  });
});

describe('revoking a key', () => {
  it('revokes it once', async () => {
    const { body } = await admin.post('/keys', { tenant: 'team' });
    const path = `/keys/${String(body['id'])}/revoke`;
    const revoked = await admin.post(path);
    expect(revoked).toMatchObject({
      status: 200,
      body: { object: 'revoked_key', id: body['id'], tenant: 'team', is_safe: true },
    });
    expect(revoked.body['revoked_at']).toBeGreaterThan(api.now() - 60_000);
    expect((await admin.post(path)).body).toEqual(revoked.body);
  });

  it('leaves a key of the file to the file', async () => {
    expect(await admin.post('/keys/file:0/revoke')).toMatchObject({
      status: 400,
      body: { error: { param: 'id', message: expect.stringContaining('keys[0]') } },
    });
  });

  it.each([
    'key_none',
    'file:999',
    'x',
    '%00',
    '..%2F',
    'sk-sluice-somebodys-key',
    'version',
    'k'.repeat(9_000),
  ])('does not find %s, and repeats it nowhere', async (id) => {
    const answer = await admin.post(`/keys/${id}/revoke`);
    expect(answer).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    const told = answer.text + JSON.stringify(await admin.audit()) + api.logged.join('');
    expect(told).not.toContain('somebodys');
  });
});

describe('changing the limits of a tenant', () => {
  const limit = (tenant: string, body: object) =>
    admin.post(`/tenants/${encodeURIComponent(tenant)}/limits`, body);

  it('changes all of its stored keys, and says so in the audit log', async () => {
    const made = await admin.post('/keys', { tenant: 'team.b', limits: { queued: 5, concurrent: 3 } });
    const change = { weight: 4, limits: { queued: 6, concurrent: null } };
    const changed = { object: 'changed_tenant', tenant: 'team.b', keys: 1, is_safe: true };
    expect(await limit('team.b', change)).toMatchObject({ status: 200, body: changed });
    expect(JSON.parse((await storedKeys())[String(made.body['id'])] ?? '')).toMatchObject({
      weight: 4,
      limits: { queued: 6 },
    });
    expect((await limit('team.b', change)).body).toEqual({ ...changed, keys: 0 });
    expect((await admin.audit())[3]).toMatchObject({
      action: 'tenant.limit',
      target: 'team.b',
      outcome: 'asked',
    });
    expect((await admin.audit())[2]).toMatchObject({
      outcome: 'done',
      detail: 'weight 4, queued 6, concurrent none',
    });
  });

  it.each([
    [{}, 'limits'],
    [{ limits: {} }, 'limits'],
    [{ limits: { queued: 0 } }, 'limits.queued'],
    [{ limits: { queued: '5' } }, 'limits.queued'],
    [{ limits: { queue: 5 } }, 'limits.queue'],
    [{ limits: { queue: null } }, 'limits.queue'],
    [{ limits: { constructor: null } }, 'limits.constructor'],
    [{ weight: -1 }, 'weight'],
    [{ weight: 'much' }, 'weight'],
    [{ models: ['m'] }, 'models'],
  ])('%j is refused by the member that is wrong', async (body, param) => {
    await admin.post('/keys', { tenant: 'team' });
    const before = await storedKeys();
    expect(await limit('team', body)).toMatchObject({ status: 400, body: { error: { param } } });
    expect(await storedKeys()).toEqual(before);
  });

  it('leaves to the file what the file says, and finds nobody without a stored key', async () => {
    expect(await limit('limited', { limits: { queued: 1 } })).toMatchObject({
      status: 400,
      body: { error: { param: 'tenant' } },
    });
    await admin.post('/keys', { tenant: 'limited' });
    expect(await limit('limited', { limits: { requestsPerMinute: 9 } })).toMatchObject({
      status: 400,
      body: { error: { param: 'limits.requestsPerMinute' } },
    });
    expect(await limit('nobody', { limits: { queued: 1 } })).toMatchObject({ status: 404 });
  });
});

describe('the audit log', () => {
  it('gives its pages, newest first', async () => {
    for (let at = 0; at < 5; at += 1) await admin.post('/queues/m/pause');
    const seen: unknown[] = [];
    let after = '';
    for (;;) {
      const { body } = await admin.ask(`/audit?limit=3${after}`);
      seen.push(...(body['data'] as { id: string }[]).map(({ id }) => id));
      if (body['has_more'] !== true) break;
      after = `&after=${String(body['next'])}`;
    }
    expect(seen).toHaveLength(10);
    expect(new Set(seen).size).toBe(10);
    expect(seen).toEqual((await admin.audit()).map(({ id }) => id));
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=x', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['after=x', 'after'],
    ['after=1', 'after'],
    ['after=99999999999999999999-0', 'after'],
    ['after=-', 'after'],
  ])('refuses ?%s', async (query, param) => {
    expect(await admin.ask(`/audit?${query}`)).toMatchObject({ status: 400, body: { error: { param } } });
  });

  it('is also lines of the log', async () => {
    await admin.post('/queues/m/pause');
    const lines = api.logged.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter(({ msg }) => msg === 'operator act')).toMatchObject([
      { action: 'queue.pause', target: 'm', outcome: 'asked', address: '127.0.0.1' },
      { action: 'queue.pause', target: 'm', outcome: 'done' },
    ]);
  });

  it('is read without the action token', async () => {
    expect((await admin.ask('/audit', { token: null })).status).toBe(200);
  });

  it('lets nothing be done that it cannot keep', async () => {
    const { json } = await api.create({ model, input: 'Hi', background: true });
    const id = String(json()['id']);
    const { body: key } = await admin.post('/keys', { tenant: 'team' });
    const before = await storedKeys();
    await api.redis.client.del(`${api.keys.prefix}audit`);
    await api.redis.client.set(`${api.keys.prefix}audit`, 'not a stream');
    const asked = [
      ['POST', `/responses/${id}/cancel`],
      ['POST', `/responses/${id}/retry`],
      ['GET', `/responses/${id}/content`],
      ['GET', `/responses/${id}/events?content=true`],
      ['POST', '/queues/m/pause'],
      ['POST', '/queues/m/resume'],
      ['POST', '/queues/m/drain'],
      ['POST', '/keys', { tenant: 'other' }],
      ['POST', `/keys/${String(key['id'])}/revoke`],
      ['POST', '/tenants/team/limits', { limits: { queued: 1 } }],
      ['POST', '/models', { id: 'new', routes: [{ provider: 'p' }] }],
      ['POST', '/models/new', { concurrency: 1 }],
      ['POST', '/models/new/remove', {}],
      ['POST', '/providers', { id: 'new', type: 'simulator' }],
      ['POST', '/providers/new', { seed: 2 }],
      ['POST', '/providers/new/remove'],
      ['POST', '/cells', { address: 'redis://127.0.0.1:1' }],
      ['POST', '/cells/E/drain'],
      ['POST', '/cells/E/open'],
      ['POST', '/cells/E/remove'],
      ['POST', '/webhooks/deliveries/evt_0-wh_0/send'],
      ['POST', `/acts/act_${'0'.repeat(32)}/stop`],
    ] as const;
    // All but acting on many, which needs an index to come that far; and a tail that shows content.
    expect(asked).toHaveLength(adminRoutes.filter(({ acts }) => acts).length);
    for (const [method, path, body] of asked) {
      const answer = await admin.ask(path, { method, ...(body && { body }) });
      expect([path, answer.status]).toEqual([path, 500]);
      expect(answer.text).not.toContain('Hi');
    }
    expect((await api.store.read(id))?.status).toBe('queued');
    expect((await api.queue.backlog(model)).isPaused).toBe(false);
    expect(await storedKeys()).toEqual(before);
    await api.redis.client.del(`${api.keys.prefix}audit`);
  });
});

describe('while Redis is silent', () => {
  it('every act is refused in time, and nothing is done', async () => {
    await admin.stop();
    const redis = await testRedis();
    const proxy = await startRedisProxy(redis.url);
    await redis.close();
    await api.start({ withoutWorker: true, commandsUrl: proxy.url });
    await admin.start();
    const { json } = await api.create({ model, input: 'Hi', background: true });
    const id = String(json()['id']);
    proxy.silence();
    for (const [method, path, body] of [
      ['POST', `/responses/${id}/cancel`],
      ['GET', `/responses/${id}/content`],
      ['GET', `/responses/${id}/events`],
      ['POST', '/queues/m/pause'],
      ['POST', '/keys', { tenant: 'other' }],
      ['GET', '/audit'],
      ['GET', '/acts'],
    ] as const) {
      const answer = await within(admin.ask(path, { method, ...(body && { body }) }));
      expect([path, answer.status, answer.body]).toMatchObject([
        path,
        503,
        { error: { code: 'server_is_overloaded' } },
      ]);
    }
    proxy.speak();
    // An entry that was sent may still have been written; the act was not done.
    expect((await api.redis.client.hget(api.keys.record(id), 'status')) ?? '').not.toBe('cancelled');
    await eventually(async () => (await admin.ask('/audit')).status === 200);
    expect((await admin.audit()).filter(({ outcome }) => outcome === 'done')).toEqual([]);
    await admin.stop();
    await api.stop();
    await proxy.stop();
  });
});
