import { hashKey, type KeySettings } from '@sluice/config';
import { keyListSchema, tenantListSchema } from '@sluice/contract/admin';
import type { OperatorOptions } from '@sluice/operator';
import type { Figures, StatsReading } from '@sluice/service-stats';
import { type KnownKeys, LiveSettings, type StoredKey } from '@sluice/tenants';
import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { adminAppOf, operatorOf } from './test-admin.ts';

type Sources = NonNullable<OperatorOptions['sources']>;

const api = eachTestApi({ withoutWorker: true });
let admin: FastifyInstance;
afterEach(() => admin.close());

async function build(sources: Sources = {}): Promise<void> {
  admin = await adminAppOf(api, { operator: operatorOf(api, { sources }) });
}

async function ask(url: string) {
  const { statusCode: status, body } = await admin.inject({
    url: `/admin/v1${url}`,
    headers: { host: 'localhost' },
  });
  return { status, text: body, body: JSON.parse(body) as unknown };
}

const tenantsOf = async (url: string) => tenantListSchema.parse((await ask(url)).body);
const keysOf = async (url: string) => keyListSchema.parse((await ask(url)).body);

const none: Figures = {
  accepted: 0,
  completed: 0,
  incomplete: 0,
  failed: 0,
  cancelled: 0,
  refused: 0,
  input_tokens: 0,
  output_tokens: 0,
  first_token_p50_ms: null,
  first_token_p99_ms: null,
  ...{ wait_p50_ms: null, wait_p99_ms: null, run_p50_ms: null, run_p99_ms: null },
};

/** The last minutes, with so many tokens of output by tenant. */
function statsOf(tokens: Record<string, number>): NonNullable<Sources['stats']> {
  const of = (output: number): Figures => ({ ...none, accepted: 1, output_tokens: output });
  const all = Object.values(tokens).reduce((sum, each) => sum + each, 0);
  const reading: StatsReading = {
    at: 0,
    spans: [],
    total: of(all),
    models: new Map(),
    tenants: new Map(Object.entries(tokens).map(([name, output]) => [name, of(output)])),
    codes: new Map(),
  };
  return { read: () => Promise.resolve(reading), forget: () => undefined };
}

const keyOf = (name: string, more: Partial<KeySettings> = {}): KeySettings => ({
  name,
  hash: hashKey(`${name} ${Math.random()}`),
  models: ['*'],
  tiers: ['default'],
  weight: 1,
  limits: { readsPerMinute: 1_000, cells: 1 },
  disabled: false,
  ...more,
});

describe('GET /tenants', () => {
  it('holds the shares against the weights of those who were active', async () => {
    const keys = [
      keyOf('heavy', { weight: 3 }),
      keyOf('light'),
      keyOf('light'),
      keyOf('idle', { weight: 96 }),
    ];
    const live = new LiveSettings({ keys, limits: api.live.limits });
    await build({ live, stats: statsOf({ heavy: 150, light: 50, revoked: 200 }) });
    const { data, has_more: hasMore } = await tenantsOf('/tenants');
    expect(
      data.map(({ tenant, share, fair_share: fair, keys: count }) => [tenant, share, fair, count]),
    ).toEqual([
      ['heavy', 0.375, 0.6, 1],
      ['light', 0.125, 0.2, 2],
      ['idle', 0, null, 1],
    ]);
    expect(hasMore).toBe(false);
  });

  it('has no shares without output, and none without the statistics', async () => {
    await build({ stats: statsOf({}) });
    expect((await tenantsOf('/tenants')).data.map(({ share }) => share)).not.toContain(0);
    await admin.close();
    await build({ stats: { read: () => Promise.reject(new Error('away')), forget: () => undefined } });
    for (const { share, fair_share: fair } of (await tenantsOf('/tenants')).data) {
      expect([share, fair]).toEqual([null, null]);
    }
  });

  it('has those with output first, most of it first, over all pages', async () => {
    const live = new LiveSettings({
      keys: ['a', 'b', 'c', 'd'].map((name) => keyOf(name)),
      limits: api.live.limits,
    });
    await build({ live, stats: statsOf({ c: 10, revoked: 99, d: 30, a: 0 }) });
    const names = async (query: string) =>
      (await tenantsOf(`/tenants?${query}`)).data.map(({ tenant }) => tenant);
    expect(await names('')).toEqual(['d', 'c', 'a', 'b']);
    expect([...(await names('limit=1')), ...(await names('limit=3&offset=1'))]).toEqual(['d', 'c', 'a', 'b']);
  });

  it('finds by any part of a name, and comes in pages', async () => {
    await build();
    const all = (await tenantsOf('/tenants')).data.map(({ tenant }) => tenant);
    expect(all).toContain('crowded');
    const found = await tenantsOf('/tenants?q=OWD');
    expect(found.data.map(({ tenant }) => tenant)).toEqual(['crowded']);
    const pages = [await tenantsOf('/tenants?limit=4'), await tenantsOf('/tenants?limit=200&offset=4')];
    expect(pages.map(({ has_more: hasMore }) => hasMore)).toEqual([true, false]);
    expect(pages.flatMap(({ data }) => data.map(({ tenant }) => tenant))).toEqual(all);
    expect((await tenantsOf('/tenants?q=nobody')).data).toEqual([]);
  });

  it.each([
    'limit=0',
    'limit=201',
    'limit=x',
    'limit=1&limit=2',
    'offset=-1',
    'q=a&q=b',
    `q=${'a'.repeat(257)}`,
  ])('refuses ?%s and names the member', async (query) => {
    await build();
    const { status, body } = await ask(`/tenants?${query}`);
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { param: query.split('=')[0] } });
  });

  it('is refused while the stored keys are not known', async () => {
    const live = new LiveSettings({ keys: [], isComplete: false, limits: api.live.limits });
    await build({ live });
    expect(await ask('/tenants')).toMatchObject({
      status: 503,
      body: { error: { code: 'server_is_overloaded' } },
    });
  });

  it('holds up nobody with a hundred thousand tenants', async () => {
    const keys = Array.from({ length: 100_000 }, (_, at) => keyOf(`tenant${at}`));
    await build({ live: new LiveSettings({ keys, limits: api.live.limits }) });
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    turn();
    expect((await tenantsOf('/tenants?q=tenant9999&limit=200')).data).toHaveLength(11);
    const first = turns;
    expect((await tenantsOf('/tenants?offset=99990')).data).toHaveLength(10);
    isOver = true;
    // The keys are gathered in fifty steps.
    expect(first).toBeGreaterThan(50);
  });
});

describe('GET /keys', () => {
  const stored = (id: string, name: string, more: Partial<StoredKey> = {}): StoredKey => ({
    id,
    name,
    hash: `sha256:${'a'.repeat(64)}`,
    last4: 'wxyz',
    createdAt: '2026-01-02T03:04:05.000Z',
    models: ['m'],
    tiers: ['default'],
    limits: {},
    ...more,
  });

  it('lists those of the file and the stored ones, and nothing of a key itself', async () => {
    const lost = stored('key_lost', 'second');
    const known: KnownKeys = {
      file: api.settings.keys,
      stored: [
        stored('key_1', 'second'),
        stored('key_2', 'second', { expiresAt: '2020-01-01T00:00:00.000Z' }),
        stored('key_3', 'second', { revokedAt: '2026-02-01T00:00:00.000Z' }),
        lost,
      ],
      revokedAt: (key) => (key === lost ? '2026-03-01T00:00:00.000Z' : key.revokedAt),
    };
    await build({ keys: { known } });
    const { data } = await keysOf('/keys?q=second');
    expect(data.map(({ id, origin, state, ends_with: ending }) => [id, origin, state, ending])).toEqual([
      [null, 'file', 'active', null],
      ['key_1', 'stored', 'active', 'wxyz'],
      ['key_lost', 'stored', 'revoked', 'wxyz'],
      ['key_3', 'stored', 'revoked', 'wxyz'],
      ['key_2', 'stored', 'expired', 'wxyz'],
    ]);
    expect(data[1]?.created_at).toBe(Date.parse('2026-01-02T03:04:05.000Z'));
    expect(data[2]?.revoked_at).toBe(Date.parse('2026-03-01T00:00:00.000Z'));
    const states = (await keysOf('/keys')).data.map(({ tenant, state }) => [tenant, state]);
    expect(states).toEqual(
      expect.arrayContaining([
        ['disabled', 'disabled'],
        ['expired', 'expired'],
      ]),
    );
    const { text } = await ask('/keys?limit=200');
    expect(text).not.toContain('a'.repeat(64));
    for (const { hash } of api.settings.keys) expect(text).not.toContain(hash);
  });

  it('finds by a tenant, a state, and any part of an id or the last characters', async () => {
    const known: KnownKeys = {
      file: [keyOf('acme')],
      stored: [
        stored('key_1', 'acme', { last4: 'abCD' }),
        stored('key_2', 'acme-two', { revokedAt: '2026-02-01T00:00:00.000Z' }),
        stored('key_3', 'acme', { expiresAt: '2020-01-01T00:00:00.000Z' }),
      ],
      revokedAt: (key) => key.revokedAt,
    };
    await build({ keys: { known } });
    const ids = async (query: string) => (await keysOf(`/keys?${query}`)).data.map(({ id }) => id);
    expect(await ids('')).toEqual([null, 'key_1', 'key_3', 'key_2']);
    expect(await ids('tenant=acme')).toEqual([null, 'key_1', 'key_3']);
    expect(await ids('tenant=acme-two&tenant=nobody')).toEqual(['key_2']);
    expect(await ids('q=bcd')).toEqual(['key_1']);
    expect(await ids('q=KEY_2')).toEqual(['key_2']);
    expect(await ids('state=revoked&state=expired')).toEqual(['key_3', 'key_2']);
    expect(await ids('state=active&offset=1')).toEqual(['key_1']);
    expect(await ask('/keys?state=lost')).toMatchObject({ status: 400, body: { error: { param: 'state' } } });
  });

  it('comes in pages', async () => {
    await build();
    const all = (await keysOf('/keys')).data;
    const pages = [await keysOf('/keys?limit=5'), await keysOf('/keys?limit=100&offset=5')];
    expect(pages.flatMap(({ data }) => data)).toEqual(all);
    expect(pages.map(({ has_more: hasMore }) => hasMore)).toEqual([true, false]);
  });

  it('is refused while the stored ones are not known', async () => {
    await build({ keys: { known: { file: [], stored: undefined, revokedAt: () => undefined } } });
    expect((await ask('/keys')).status).toBe(503);
  });
});

describe('GET /overview', () => {
  it('names the part that cannot be read, and has the others', async () => {
    await build({ stats: { read: () => Promise.reject(new Error('WRONGTYPE')), forget: () => undefined } });
    const { status, body } = await ask('/overview');
    expect(status).toBe(200);
    expect(body).toMatchObject({ missing: ['statistics'], buckets: [], hour: { accepted: 0 } });
    expect(body).toHaveProperty('queues.length', 5);
  });
});
