import { RedisMemory } from '@sluice/runtime';
import { hasServer, type LocalRedis, startLocalRedis } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startableTestApi } from './kept-api.ts';
import { type Answer, apiKeys, model } from './test-api.ts';

const mebibyte = 1024 * 1024;

// Memory is bounded by the server, so it has to be one that nobody else uses.
describe.skipIf(!hasServer)('a tenant that fills the store (needs a server on the PATH)', () => {
  let own: LocalRedis;
  const api = startableTestApi();

  beforeEach(async () => {
    own = await startLocalRedis();
    await api.start({ redisUrl: own.url, bodyBytes: 5_000_000 });
    await api.redis.client.config('SET', 'maxmemory', 40 * mebibyte);
  });
  afterEach(async () => {
    await api.stop();
    await own.stop();
  });

  /** Asks as an api process does that has looked at the memory of Redis a moment ago. */
  async function ask(key: string, input: unknown, more: object = {}): Promise<Answer> {
    const memory = new RedisMemory({ commands: api.redis.client, onError: () => undefined });
    await memory.look();
    Object.assign(api.memory, { usedPercent: memory.usedPercent, limitBytes: memory.used?.limitBytes });
    return api.create({ model, input, ...more }, { key });
  }

  /** An image, which counts 256 tokens whatever its size. */
  const image = (bytes: number) => [
    {
      role: 'user',
      content: [{ type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(bytes)}` }],
    },
  ];

  async function fill(key: string): Promise<Answer[]> {
    const answers: Answer[] = [];
    for (let at = 0; at < 12; at += 1) answers.push(await ask(key, image(3 * mebibyte)));
    return answers;
  }

  const statuses = (answers: Answer[]) => answers.map(({ status }) => status);

  it('is refused with 429 at half of it, and its neighbours are let in', async () => {
    const answers = await fill(apiKeys.first);
    expect(statuses(answers)).toEqual([
      ...Array.from({ length: 4 }, () => 200),
      ...Array.from({ length: 8 }, () => 429),
    ]);
    const neighbour: Answer[] = [];
    for (let at = 0; at < 10; at += 1) neighbour.push(await ask(apiKeys.second, 'Hi'));
    expect(new Set(statuses(neighbour))).toEqual(new Set([200]));
    const refused = answers.at(-1);
    expect(refused?.json()).toMatchObject({
      error: {
        code: 'rate_limit_exceeded',
        type: 'too_many_requests',
        message: expect.stringMatching(/^Too much of yours is stored\. .* Please try again in [\d.]+s\.$/),
      },
    });
    // What is stored for a day goes in a day, and a client that tries again by itself should not.
    const seconds = Number(refused?.headers['retry-after']);
    expect(seconds).toBeGreaterThanOrEqual(86_000);
    expect(seconds).toBeLessThanOrEqual(86_400 * (1 + 1 / 16));
    expect(refused?.headers['x-should-retry']).toBe('false');
  });

  it('fills it for everybody where its keys say that it may', async () => {
    const keys = api.settings.keys.map((key) =>
      key.name === 'first' ? { ...key, limits: { ...key.limits, storedBytes: 1_000_000_000 } } : key,
    );
    api.live.replace({ keys, limits: api.settings.limits });
    expect(statuses(await fill(apiKeys.first)).filter((status) => status === 429)).toEqual([]);
    expect((await ask(apiKeys.second, 'Hi')).status).toBe(503);
  });

  it('may go on once it has deleted something', async () => {
    const { id } = (await ask(apiKeys.first, image(3 * mebibyte))).json() as { id: string };
    expect(statuses(await fill(apiKeys.first)).at(-1)).toBe(429);
    const headers = { authorization: `Bearer ${apiKeys.first}` };
    await api.app.inject({ method: 'DELETE', url: `/v1/responses/${id}`, headers });
    expect((await ask(apiKeys.first, image(3 * mebibyte))).status).toBe(200);
  });

  it('has as much as its keys say, and is told of a request that never fits that it does not', async () => {
    const keys = api.settings.keys.map((key) =>
      key.name === 'first' ? { ...key, limits: { ...key.limits, storedBytes: mebibyte } } : key,
    );
    api.live.replace({ keys, limits: api.settings.limits });
    const refused = await ask(apiKeys.first, image(3 * mebibyte));
    expect(refused.status).toBe(429);
    expect(refused.headers).not.toHaveProperty('retry-after');
    expect(refused.headers['x-should-retry']).toBe('false');
    expect((await ask(apiKeys.first, 'Hi')).status).toBe(200);
    expect((await ask(apiKeys.second, image(3 * mebibyte))).status).toBe(200);
  });
});

describe('places in the queue', () => {
  const api = startableTestApi();

  const wait = async (key: string, count: number) => {
    const answers: number[] = [];
    for (let at = 0; at < count; at += 1) {
      answers.push((await api.create({ model, input: 'Hi', background: true }, { key })).status);
    }
    return answers;
  };

  it('are half of all for a tenant whose keys say nothing of it', async () => {
    await api.start({ withoutWorker: true, queued: 10 });
    expect(await wait(apiKeys.first, 8)).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    expect(await wait(apiKeys.second, 5)).toEqual([200, 200, 200, 200, 200]);
    expect(await wait(apiKeys.limited, 1)).toEqual([503]);
  });

  it('are half of all by their bytes, too', async () => {
    await api.start({ withoutWorker: true });
    const { keys, limits } = api.settings;
    api.live.replace({ keys, limits: { ...limits, queuedBytes: 6 * 1024 } });
    expect(await wait(apiKeys.first, 5)).toEqual([200, 200, 200, 429, 429]);
    expect(await wait(apiKeys.second, 3)).toEqual([200, 200, 200]);
  });

  it('are as many as its keys say, up to all of them', async () => {
    await api.start({ withoutWorker: true, queued: 4 });
    const { limits } = api.settings;
    const keys = api.settings.keys.map((key) =>
      key.name === 'first' ? { ...key, limits: { ...key.limits, queued: 100 } } : key,
    );
    api.live.replace({ keys, limits });
    expect(await wait(apiKeys.first, 5)).toEqual([200, 200, 200, 200, 503]);
  });
});
