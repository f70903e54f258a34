import type { Settings } from '@sluice/config';
import { overviewSchema, type Overview, queueListSchema } from '@sluice/contract/admin';
import { eventually, readSse, sseFrames, startRedisProxy, testRedis, within } from '@sluice/testing';
import { type ScriptedWorker, startScriptedWorker } from './scripted-worker.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { leaseHere, postResponse, processSettings, startApi as startProcess } from './api-process-site.ts';
import { apiKeys, model } from './test-api.ts';

const clockErrorMs = 1_000;
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

type RunningApi = Awaited<ReturnType<typeof startApi>>;

async function startApi(redisUrl: string, keyPrefix: string, more: Partial<Settings> = {}) {
  const settings = { ...processSettings(redisUrl, keyPrefix), ...more, redisUrl };
  const api = await startProcess({ settings, replaced: { leaseOver: leaseHere } });
  cleanups.push(api.stop);
  return api;
}

async function startWorker(redisUrl: string, keyPrefix: string): Promise<ScriptedWorker> {
  const worker = await startScriptedWorker({ redisUrl, keyPrefix, models: [model] });
  cleanups.push(() => worker.stop());
  return worker;
}

const create = (api: RunningApi, body: object = {}, key?: string) => postResponse(api.url, body, { key });

async function ask(api: RunningApi, path: string) {
  const answer = await fetch(`${api.adminUrl}/admin/v1${path}`);
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

async function overviewOf(api: RunningApi): Promise<Overview> {
  const { status, body } = await ask(api, '/overview');
  expect(status).toBe(200);
  return overviewSchema.parse(body);
}

/** The frames of a live answer, as they come. */
async function follow(api: RunningApi) {
  const leaving = new AbortController();
  cleanups.push(() => Promise.resolve(leaving.abort()));
  const answer = await fetch(`${api.adminUrl}/admin/v1/overview/events`, { signal: leaving.signal });
  const frames: { event: string; data: Record<string, unknown> }[] = [];
  const reading = (async () => {
    for await (const { event, data } of sseFrames(answer.body ?? '')) {
      frames.push({ event, data: JSON.parse(data) as Record<string, unknown> });
    }
  })();
  reading.catch(() => undefined);
  return { answer, frames, leave: () => leaving.abort() };
}

describe('the overview of two apis and a worker', () => {
  it('has a worker that fell silent as a lost one, which is no worker that runs', async () => {
    const redis = await testRedis();
    cleanups.push(() => redis.close());
    const prefix = `${redis.prefix}:`;
    const api = await startApi(redis.url, prefix);
    const will = {
      ...{ role: 'worker', host: 'gpu-1', pid: 7, version: '1', started_at: 1, stopping: false, running: 2 },
      ...{ slots: [{ queue: model, running: 2, slots: 8 }], active_at: null, upstreams: [] },
    };
    const heardAt = Date.now() - 60_000;
    await redis.client.zadd(`${prefix}{0}:processes:heard`, heardAt, 'frozen');
    await redis.client.hset(`${prefix}{0}:processes:wills`, 'frozen', JSON.stringify(will));
    const seen = await overviewOf(api);
    expect(seen.lost).toMatchObject([{ id: 'frozen', host: 'gpu-1', pid: 7, running: 2, seen_at: heardAt }]);
    expect(seen.processes.map(({ id }) => id)).not.toContain('frozen');
    expect(seen.queues.map(({ slots }) => slots)).toEqual(seen.queues.map(() => 0));
  });

  it('adds up what all of them did, and names them', async () => {
    const redis = await testRedis();
    cleanups.push(() => redis.close());
    const prefix = `${redis.prefix}:`;
    const [one, other] = [await startApi(redis.url, prefix), await startApi(redis.url, prefix)];
    const worker = await startWorker(redis.url, prefix);
    for (const api of [one, other]) {
      for (let n = 0; n < 3; n += 1) expect((await create(api)).status).toBe(200);
      const stream = await create(api, { stream: true }, apiKeys.second);
      expect((await readSse(stream.body ?? '')).events.length).toBeGreaterThan(2);
    }
    worker.onRun((run) => run.fail('server_error'));
    expect((await create(one)).status).toBeGreaterThanOrEqual(400);
    for (const expected of [200, 200, 429]) {
      expect((await create(other, { background: true }, apiKeys.limited)).status).toBe(expected);
    }
    const seen = await eventually(async () => {
      const overview = await overviewOf(other);
      const { accepted, failed, refused } = overview.hour;
      return accepted === 11 && failed === 3 && refused === 1 && overview;
    });
    expect(seen.hour).toMatchObject({ accepted: 11, completed: 8, failed: 3, refused: 1, output_tokens: 16 });
    expect(seen.hour.first_token_p50_ms).toBeGreaterThan(0);
    expect(seen.hour.first_token_p99_ms).toBeGreaterThanOrEqual(seen.hour.first_token_p50_ms ?? 0);
    expect(seen.errors).toEqual([{ value: 'server_error', count: 3 }]);
    expect(seen.models).toMatchObject([{ model, accepted: 11, completed: 8 }]);
    expect(seen.tenants.map(({ tenant, accepted, refused }) => [tenant, accepted, refused])).toEqual(
      expect.arrayContaining([
        ['first', 7, 0],
        ['second', 2, 0],
        ['limited', 2, 1],
      ]),
    );
    const sumOf = (of: (bucket: Overview['buckets'][number]) => number) =>
      seen.buckets.reduce((sum, bucket) => sum + of(bucket), 0);
    expect(sumOf(({ accepted }) => accepted)).toBe(11);
    expect(sumOf(({ output_tokens: tokens }) => tokens)).toBe(16);
    expect(seen.processes.map(({ role }) => role)).toEqual(['api', 'api', 'worker']);
    expect(new Set(seen.processes.map(({ id }) => id)).size).toBe(3);
    expect(seen.upstreams).toMatchObject([{ provider: 'scripted', breaker: 'closed', workers: 1 }]);
    expect(seen.missing).toBeUndefined();
    expect(seen.redis.used_bytes).toBeGreaterThan(0);
    expect(seen.redis.version).toMatch(/^\d+\./);
    // Both say the same.
    expect((await overviewOf(one)).hour).toEqual(seen.hour);
    await one.stop();
    const left = await eventually(async () => {
      const { processes } = await overviewOf(other);
      return processes.length === 2 && processes;
    });
    expect(left.map(({ role }) => role)).toEqual(['api', 'worker']);
  });

  it('shows queues as they are, with the age of what waits longest', async () => {
    const redis = await testRedis();
    cleanups.push(() => redis.close());
    const prefix = `${redis.prefix}:`;
    const api = await startApi(redis.url, prefix);
    const begunAt = Date.now();
    for (let n = 0; n < 3; n += 1) {
      expect((await create(api, { background: true })).status).toBe(200);
    }
    const rows = await eventually(async () => {
      const { data } = queueListSchema.parse((await ask(api, '/queues')).body);
      const row = data.find(({ queue }) => queue === model);
      return (row?.oldest_wait_ms ?? 0) > 50 && data;
    });
    expect(rows.map(({ queue }) => queue)).toEqual([model, 'other', 'vendor/model', 'counted', 'small']);
    expect(rows[0]).toMatchObject({ models: [model], paused: false, waiting: 3, active: 0, slots: 0 });
    // The store's clock is read with an error of some milliseconds.
    expect(rows[0]?.oldest_wait_ms).toBeLessThanOrEqual(clockErrorMs + Date.now() - begunAt);
    expect(rows[1]).toMatchObject({ waiting: 0, oldest_wait_ms: null });
    await startWorker(redis.url, prefix);
    await eventually(async () => {
      const [row] = (await overviewOf(api)).queues;
      return row?.waiting === 0 && row.slots === 32;
    });
  });
});

describe('the live overview', () => {
  it('tells everybody of changes, and at first of everything', async () => {
    const redis = await testRedis();
    cleanups.push(() => redis.close());
    const api = await startApi(redis.url, `${redis.prefix}:`);
    const [one, other] = [await follow(api), await follow(api)];
    expect(one.answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
    await create(api, { background: true });
    for (const { frames } of [one, other]) {
      const changed = await eventually(() =>
        frames.slice(1).find(({ data }) => overviewSchema.parse(data).hour.accepted === 1),
      );
      const first = overviewSchema.parse(frames[0]?.data);
      expect(first.buckets.length).toBeGreaterThanOrEqual(354);
      const next = overviewSchema.parse(changed.data);
      expect(next.buckets.length).toBeLessThan(20);
      expect(next.buckets.some(({ accepted }) => accepted === 1)).toBe(true);
      expect(next.queues[0]?.waiting).toBe(1);
    }
  });
});

describe('without Redis', () => {
  it('requests are refused soon, and answered when it is back', async () => {
    const paths = ['/overview', '/overview/events', '/queues', '/tenants'];
    const redis = await testRedis();
    cleanups.push(() => redis.close());
    const proxy = await startRedisProxy(redis.url);
    cleanups.push(() => proxy.stop());
    const api = await startApi(proxy.url, `${redis.prefix}:`);
    proxy.silence();
    const refused = await within(Promise.all(paths.map((path) => ask(api, path))));
    const overloaded = { error: { code: 'server_is_overloaded' } };
    expect(refused).toMatchObject(paths.map(() => ({ status: 503, body: overloaded })));
    proxy.speak();
    for (const path of paths) {
      await eventually(async () => {
        const leaving = new AbortController();
        const answer = await fetch(`${api.adminUrl}/admin/v1${path}`, { signal: leaving.signal });
        leaving.abort();
        return answer.status === 200;
      });
    }
  });

  it('a live overview says so, and goes on when it is back', async () => {
    const redis = await testRedis();
    cleanups.push(() => redis.close());
    const proxy = await startRedisProxy(redis.url);
    cleanups.push(() => proxy.stop());
    const api = await startApi(proxy.url, `${redis.prefix}:`);
    const { frames } = await follow(api);
    await eventually(() => frames.length >= 1);
    proxy.silence();
    const told = await eventually(() => frames.find(({ event }) => event === 'unavailable'));
    expect(told.data).toMatchObject({ error: { code: 'server_is_overloaded' } });
    const before = frames.length;
    proxy.speak();
    await eventually(() => frames.slice(before).some(({ event }) => event === 'overview'));
  });
});

describe('with the statistics off', () => {
  it('nothing is written, and the queues still come', async () => {
    const redis = await testRedis();
    cleanups.push(() => redis.close());
    const api = await startApi(redis.url, `${redis.prefix}:`, {
      console: { journal: true, keep: 1000, statistics: false },
    });
    await create(api, { background: true });
    const { hour, processes, queues, missing, buckets } = await overviewOf(api);
    expect(missing).toEqual(['statistics', 'processes']);
    expect(hour.accepted).toBe(0);
    expect(buckets.length).toBeGreaterThanOrEqual(354);
    expect(processes).toEqual([]);
    expect(queues[0]).toMatchObject({ waiting: 1, slots: null });
    await api.stop();
    expect(await redis.client.keys(`${redis.prefix}*{0}:stats:*`)).toEqual([]);
    expect(await redis.client.keys(`${redis.prefix}*{0}:process*`)).toEqual([]);
  });
});
