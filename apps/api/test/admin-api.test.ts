import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { actionToken, adminAppOf } from './test-admin.ts';

const api = eachTestApi();
let admin: FastifyInstance;

beforeEach(async () => {
  admin = await build(actionToken);
});
afterEach(() => admin.close());

function build(token: string | undefined): Promise<FastifyInstance> {
  return adminAppOf(api, { actionToken: token, developmentKey: async () => 'sk-sluice-dev-of-the-test' });
}

const ask = async (url: string, headers: Record<string, string> = {}) => {
  const { statusCode: status, body } = await admin.inject({
    url,
    headers: { host: 'localhost', ...headers },
  });
  const parsed: unknown = JSON.parse(body);
  return { status, body: parsed };
};

describe('GET /admin/v1/session', () => {
  it.each([
    [{}, 'locked'],
    [{ 'sluice-action-token': 'action-token-of-the-tesT' }, 'locked'],
    [{ 'sluice-action-token': actionToken }, 'open'],
  ])('says what %j may do', async (headers, acting) => {
    expect(await ask('/admin/v1/session', headers)).toMatchObject({
      status: 200,
      body: {
        ...{ object: 'session', acting, takes_development_key: true },
        development_key: acting === 'open' ? 'sk-sluice-dev-of-the-test' : null,
      },
    });
  });

  it('says that nothing can be changed where the service has no action token', async () => {
    await admin.close();
    admin = await build(undefined);
    expect(await ask('/admin/v1/session', { 'sluice-action-token': '' })).toMatchObject({
      body: { acting: 'off' },
    });
  });
});

describe('the admin API', () => {
  it('answers what it does not know with the envelope of the API', async () => {
    expect(await ask('/admin/v1/nothing')).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found' } },
    });
  });

  it('says which method a path takes', async () => {
    const refused = await admin.inject({
      method: 'POST',
      url: '/admin/v1/session',
      headers: { host: 'localhost' },
    });
    expect(refused.statusCode).toBe(405);
    expect(refused.headers.allow).toContain('GET');
  });

  it.each([{ origin: 'http://elsewhere.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])(
    'refuses a page elsewhere: %j',
    async (headers) => {
      const { statusCode } = await admin.inject({
        url: '/admin/v1/session',
        headers: { host: 'localhost', ...headers },
      });
      expect(statusCode).toBe(403);
    },
  );
});
