import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashKey, openSettings } from '@sluice/config';
import { createLogger } from '@sluice/runtime';
import { createKey, developmentKey, KeyStore, type StoredKey, storedKeyText, Tenants } from '@sluice/tenants';
import {
  eventually,
  freePort,
  type LocalRedis,
  startLocalRedis,
  startRedisProxy,
  testRedis,
  type TestRedis,
} from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { launchApi, leaseHere, postResponse, saveSettings, settingsOfFile } from './api-process-site.ts';

let redis: TestRedis;
let directory: string;
const cleanups: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  redis = await testRedis();
  cleanups.push(() => redis.close());
  directory = await mkdtemp(join(tmpdir(), 'sluice-api-'));
  cleanups.push(() => rm(directory, { recursive: true, force: true }));
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const save = (settings: object) => saveSettings(directory, JSON.stringify(settings));

/** Starts an api with the settings file of the test, and does not wait for it. */
function launch({
  redisUrl = redis.url,
  env,
  lookForKeysEveryMs = 50,
}: {
  redisUrl?: string;
  env?: Record<string, string>;
  lookForKeysEveryMs?: number;
} = {}) {
  const file = settingsOfFile(directory, { redis: { url: redisUrl, prefix: redis.prefix }, env });
  const api = launchApi({ ...file, replaced: { lookForKeysEveryMs, leaseOver: leaseHere } });
  cleanups.push(api.stop);
  const linesOf = (message: string) =>
    api.lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ msg }) => msg === message);
  return { ...api, linesOf };
}

async function start(options: Parameters<typeof launch>[0] = {}) {
  const launched = launch(options);
  await launched.started;
  return { ...launched, ...(await launched.ready.wait()) };
}

async function statusOf({ url }: { url: string }, key: string): Promise<number> {
  const answer = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  await answer.text();
  return answer.status;
}

/** Stores a key as `sluice keys create` does, or writes over it. */
async function store(plain: string, changes: Partial<StoredKey> = {}, over = redis): Promise<string> {
  const id = `key_${hashKey(plain).slice(0, 24)}`;
  const key: StoredKey = {
    id,
    name: 'stored',
    hash: `sha256:${hashKey(plain)}`,
    last4: plain.slice(-4),
    models: ['*'],
    tiers: ['default'],
    limits: {},
    createdAt: '2026-01-01T00:00:00.000Z',
    ...changes,
  };
  const keys = new KeyStore({ connection: over.client, keyPrefix: `${redis.prefix}:{0}:` });
  const entries = new Map([[id, storedKeyText(key)]]);
  expect(await keys.change({ from: await keys.read(), entries })).toBe(true);
  return id;
}

const revoked = { revokedAt: '2026-01-02T00:00:00.000Z' };
const own = 'sk-own-0123456789abcdef';
const withOwnKey = { keys: [{ name: 'own', key: own }] };

describe('a stored key', () => {
  it('that an api makes or revokes is in effect there, and listed, with the answer', async () => {
    await save(withOwnKey);
    const token = 'act-0123456789abcdef';
    const api = await start({ env: { ADMIN_ACTION_TOKEN: token }, lookForKeysEveryMs: 3_600_000 });
    const { adminUrl } = await api.listening.wait();
    const post = async (path: string, body: object) => {
      const answer = await fetch(`${adminUrl}/admin/v1${path}`, {
        method: 'POST',
        headers: { 'sluice-action-token': token, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return (await answer.json()) as { id: string; key: string };
    };
    const stateOf = async (id: string) => {
      const answer = await fetch(`${adminUrl}/admin/v1/keys`);
      const { data } = (await answer.json()) as { data: { id: string; state: string }[] };
      return data.find((each) => each.id === id)?.state;
    };
    const { id, key } = await post('/keys', { tenant: 'team' });
    expect([await statusOf(api, key), await stateOf(id)]).toEqual([200, 'active']);
    await post(`/keys/${id}/revoke`, {});
    expect([await statusOf(api, key), await stateOf(id)]).toEqual([401, 'revoked']);
  });

  it('passes at every api, and after its revocation at none', async () => {
    await save(withOwnKey);
    const apis = await Promise.all([start(), start()]);
    const plain = createKey();
    for (const api of apis) expect(await statusOf(api, plain)).toBe(401);
    await store(plain);
    await Promise.all(apis.map((api) => eventually(async () => (await statusOf(api, plain)) === 200)));
    await store(plain, revoked);
    await Promise.all(apis.map((api) => eventually(async () => (await statusOf(api, plain)) === 401)));
    for (const api of apis) {
      expect(await statusOf(api, own)).toBe(200);
      expect(api.linesOf('stored keys changed')).toMatchObject([
        { keysAdded: 1, keysRevoked: 0 },
        { keysAdded: 0, keysRevoked: 1 },
      ]);
      expect(api.lines.join('')).not.toContain(plain);
    }
  });

  it('holds its tenant to its limits, and its caller to its models', async () => {
    await save({
      ...withOwnKey,
      providers: [{ id: 'p', type: 'simulator' }],
      models: ['one', 'other'].map((id) => ({ id, routes: [{ provider: 'p' }] })),
    });
    const plain = createKey();
    await store(plain, { models: ['one'], limits: { requestsPerMinute: 1 } });
    const { url } = await start();
    const create = async (model: string, key = plain) => {
      const answer = await postResponse(url, { model, background: true }, { key });
      await answer.text();
      return answer.status;
    };
    expect(await create('other')).toBe(403);
    expect(await create('one')).toBe(200);
    expect(await create('one')).toBe(429);
    expect(await create('one', own)).toBe(200);
    expect(await create('one', own)).toBe(200);
  });

  it('stays as it is while Redis is away, taken or revoked, and the next change follows', async () => {
    await save(withOwnKey);
    const proxy = await startRedisProxy(redis.url);
    cleanups.push(() => proxy.stop());
    const [good, bad, late] = [createKey(), createKey(), createKey()];
    await store(good);
    await store(bad, revoked);
    const api = await start({ redisUrl: proxy.url });
    proxy.refuse();
    await store(late);
    await eventually(async () => (await fetch(`${api.url}/readyz`)).status === 503);
    expect(await statusOf(api, good)).toBe(200);
    expect(await statusOf(api, own)).toBe(200);
    expect(await statusOf(api, bad)).toBe(401);
    expect(await statusOf(api, late)).toBe(401);
    proxy.mend();
    await eventually(async () => (await statusOf(api, late)) === 200);
    expect(await statusOf(api, good)).toBe(200);
    expect(await statusOf(api, bad)).toBe(401);
  });

  it('stays refused when Redis has lost its revocation, also by an api that starts later', async () => {
    await save(withOwnKey);
    const plain = createKey();
    const id = await store(plain, revoked);
    const api = await start();
    await store(plain);
    const isRevoked = async () => {
      const text = await redis.client.hget(`${redis.prefix}:{0}:api-keys`, id);
      return text?.includes(revoked.revokedAt) === true;
    };
    expect(await isRevoked()).toBe(false);
    await eventually(isRevoked);
    expect(await statusOf(api, plain)).toBe(401);
    expect(api.linesOf('stored key was revoked and stays refused')).toMatchObject([{ keyId: id }]);
    expect(await statusOf(await start(), plain)).toBe(401);
  });

  it('is taken beside a file that changes, which wins where they contradict each other', async () => {
    await save(withOwnKey);
    const plain = createKey();
    const id = await store(plain, { name: 'own', limits: { queued: 5 } });
    const api = await start();
    const message = 'stored key contradicts the settings file or an older key, which wins';
    expect(api.linesOf(message)).toEqual([]);
    await save({ keys: [{ name: 'own', key: own, limits: { queued: 6 } }] });
    const [warned] = await eventually(() => api.linesOf(message).length > 0 && api.linesOf(message));
    expect(warned).toMatchObject({
      level: 'warn',
      keyId: id,
      problem: expect.stringContaining('limits.queued differs from the settings file, which says 6'),
    });
    expect(await statusOf(api, plain)).toBe(200);
    await save({
      keys: [
        { name: 'own', key: own, limits: { queued: 6 } },
        { name: 'b', key: 'k' },
      ],
    });
    await eventually(async () => (await statusOf(api, 'k')) === 200);
    expect(api.linesOf(message)).toHaveLength(1);
  });

  it('gives way to a default that its file comes to write out', async () => {
    await save(withOwnKey);
    await store(createKey(), { name: 'own', weight: 2 });
    const api = await start();
    await save({ keys: [{ name: 'own', key: own, weight: 1 }] });
    const message = 'stored key contradicts the settings file or an older key, which wins';
    await eventually(() => api.linesOf(message).length === 1);
    expect(api.linesOf(message)).toMatchObject([{ problem: expect.stringMatching(/^weight differs/) }]);
  });

  it('is skipped with a warning when it cannot be read, and the others are taken', async () => {
    await save(withOwnKey);
    const plain = createKey();
    await store(plain);
    await redis.client.hset(`${redis.prefix}:{0}:api-keys`, { key_junk: '{', odd: '1' });
    const api = await start();
    expect(await statusOf(api, plain)).toBe(200);
    expect(api.linesOf('stored key cannot be read and is refused')).toEqual([
      expect.objectContaining({ level: 'warn', keyId: 'key_junk', problem: 'is not JSON' }),
      expect.objectContaining({ keyId: 'odd', problem: 'is not the id of a key' }),
    ]);
  });
});

describe('an api that cannot read the stored keys yet', () => {
  it('takes the keys of its file, asks others to wait, and takes the stored ones later', async () => {
    await save(withOwnKey);
    const port = await freePort();
    const api = launch({ redisUrl: `redis://127.0.0.1:${port}` });
    const at = await api.listening.wait();
    const plain = createKey();
    expect(await statusOf(at, own)).toBe(200);
    const answer = await fetch(`${at.url}/v1/models`, { headers: { authorization: `Bearer ${plain}` } });
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await answer.json()).toMatchObject({ error: { code: 'server_is_overloaded' } });
    expect((await fetch(`${at.url}/v1/models`)).status).toBe(401);

    const local: LocalRedis = await startLocalRedis({ port });
    cleanups.push(() => local.stop());
    const over = await testRedis(local.url);
    cleanups.push(() => over.close());
    await store(plain, {}, over);
    await eventually(async () => (await statusOf(at, plain)) === 200);
    expect(await statusOf(at, createKey())).toBe(401);
  });

  it('serves those of its file when something else is in their place', async () => {
    await save(withOwnKey);
    await redis.client.set(`${redis.prefix}:{0}:api-keys`, 'text');
    const api = await start();
    expect(await statusOf(api, own)).toBe(200);
    expect(await statusOf(api, createKey())).toBe(503);
    expect(api.linesOf('stored keys cannot be read, the keys in effect stay')).not.toEqual([]);
    await redis.client.del(`${redis.prefix}:{0}:api-keys`);
    await eventually(async () => (await statusOf(api, createKey())) === 401);
  });
});

describe('a service without keys in its file', () => {
  const development = async () => (await developmentKey(join(directory, 'data'))).plain;

  const storedKeys = () => new KeyStore({ connection: redis.client, keyPrefix: `${redis.prefix}:{0}:` });

  /** Revokes a key as `sluice keys revoke` does. */
  async function revoke(id: string): Promise<void> {
    const { settings } = openSettings({ env: {}, argv: [], cwd: directory, role: 'start' });
    const tenants = new Tenants({
      ...{ settings, connection: redis.client, keyPrefix: `${redis.prefix}:{0}:` },
      store: { tenantUse: async () => [] },
      redisBytes: () => undefined,
      isSafe: async () => true,
      logger: createLogger({ name: 'operator', level: 'silent' }),
    });
    await tenants.revokeKey(id);
  }

  it('takes its development key beside stored keys, also after a restart', async () => {
    await save({});
    const api = await start();
    expect(api.acceptsDevelopmentKey).toBe(true);
    const plainDevelopment = await development();
    expect(await statusOf(api, plainDevelopment)).toBe(200);
    const plain = createKey();
    await store(plain);
    await eventually(async () => (await statusOf(api, plain)) === 200);
    expect(await statusOf(api, plainDevelopment)).toBe(200);
    const next = await start();
    expect(next.acceptsDevelopmentKey).toBe(true);
    expect(await statusOf(next, plainDevelopment)).toBe(200);
  });

  it('refuses its development key once that is revoked by its name, also when Redis has lost that', async () => {
    await save({});
    const api = await start();
    const plainDevelopment = await development();
    const plain = createKey();
    await store(plain);
    await eventually(async () => (await statusOf(api, plain)) === 200);
    await revoke('development');
    await eventually(async () => (await statusOf(api, plainDevelopment)) === 401);
    expect(await statusOf(api, plain)).toBe(200);
    expect((await start()).acceptsDevelopmentKey).toBe(false);
    await redis.client.del(`${redis.prefix}:{0}:api-keys`);
    // The api that has seen the revocation writes it again, for the others.
    await eventually(async () => (await storedKeys().read()).entries.has('key_development'));
    expect(await statusOf(api, plainDevelopment)).toBe(401);
    expect(await statusOf(await start(), plainDevelopment)).toBe(401);
  });

  it('goes without a development key that it cannot keep, if keys are stored', async () => {
    await save({});
    await writeFile(join(directory, 'data'), '');
    const plain = createKey();
    await store(plain);
    const api = await start();
    expect(api.acceptsDevelopmentKey).toBe(false);
    expect(await statusOf(api, plain)).toBe(200);
  });

  it('takes no development key while its file has keys, and the same one again when it has none', async () => {
    await save({});
    const api = await start();
    const plainDevelopment = await development();
    const changes = () => api.linesOf('settings changed').length;
    await save(withOwnKey);
    await eventually(() => changes() === 1);
    expect(await statusOf(api, own)).toBe(200);
    expect(await statusOf(api, plainDevelopment)).toBe(401);
    await save({});
    await eventually(() => changes() === 2);
    expect(await statusOf(api, own)).toBe(401);
    expect(await statusOf(api, plainDevelopment)).toBe(200);
  });

  it('takes no development key before it knows the stored keys', async () => {
    await save({});
    const plain = await development();
    const api = launch({ redisUrl: `redis://127.0.0.1:${await freePort()}` });
    expect(await statusOf(await api.listening.wait(), plain)).toBe(503);
  });

  it('listens beyond loopback with stored keys alone', async () => {
    await save({});
    const plain = createKey();
    await store(plain);
    const api = await start({ env: { HOST: '0.0.0.0' } });
    const url = api.url.replace('0.0.0.0', '127.0.0.1');
    expect(await statusOf({ url }, plain)).toBe(200);
    expect(await statusOf({ url }, await development())).toBe(401);
  });

  it('does not start beyond loopback without any', async () => {
    await save({});
    const api = launch({ env: { HOST: '0.0.0.0' } });
    await expect(api.started).rejects.toThrow(
      'HOST: is not a loopback address and there is no key; add `keys` to the file, make one with `sluice keys create`',
    );
    await expect(api.started).rejects.toMatchObject({ exitCode: 2 });
  });

  it('refuses a file without keys beyond loopback, and takes it when keys are stored', async () => {
    await save(withOwnKey);
    const api = await start({ env: { HOST: '0.0.0.0' } });
    const at = { url: api.url.replace('0.0.0.0', '127.0.0.1') };
    await save({ keys: [] });
    const refused = 'settings file refused, the settings in effect stay';
    await eventually(() => api.linesOf(refused).length === 1);
    expect(await statusOf(at, own)).toBe(200);
    const plain = createKey();
    await store(plain);
    await eventually(async () => (await statusOf(at, plain)) === 200);
    await save({ keys: [], logLevel: 'warn' });
    await eventually(async () => (await statusOf(at, own)) === 401);
    expect(await statusOf(at, plain)).toBe(200);
  });
});
