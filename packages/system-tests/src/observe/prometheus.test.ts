import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { forAllTests, eventually, hasServer, startFakeUpstream, startLocalRedis } from '@sluice/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { testService } from '../service.ts';
import { startProcess } from '../sluice-process.ts';
import { dashboardQueries, observeFolder, ruleTestFiles } from './observe-files.ts';
import { hasPrometheus, promtool, startPrometheus } from './prometheus.ts';

describe.skipIf(!hasPrometheus)('the files for Prometheus (needs prometheus on the PATH)', () => {
  it('are what promtool takes', () => {
    // The files that it names are where the container has them.
    const config = promtool('check', 'config', '--syntax-only', join(observeFolder, 'prometheus.yml'));
    expect(config).toMatchObject({ code: 0 });
    expect(promtool('check', 'rules', join(observeFolder, 'rules/sluice.yml'))).toMatchObject({ code: 0 });
  });

  it('pass their tests, in which each alert fires', () => {
    const files = ruleTestFiles();
    expect(files.length).toBeGreaterThan(0);
    expect(promtool('test', 'rules', ...files)).toMatchObject({ code: 0 });
  });
});

const adminToken = 'the-token-of-this-test';
const canRun = hasPrometheus && hasServer;

describe.skipIf(!canRun)('a real Prometheus (needs prometheus and a Redis server on the PATH)', () => {
  const redis = forAllTests(() => startLocalRedis({ kind: 'server' }));
  const upstream = forAllTests(startFakeUpstream);
  beforeAll(() => {
    upstream.onChatCompletions(({ request, json }) => {
      if ((request.body as { model: string }).model === 'b') json(500, { error: { message: 'no' } });
      else json(429, { error: { message: 'later' } }, { 'retry-after': '30' });
    });
  });
  const service = testService(() => ({
    workers: 2,
    redisUrl: redis.url,
    env: { ADMIN_TOKEN: adminToken },
    settings: {
      providers: [
        { id: 'simulator', type: 'simulator', firstTokenMs: 20, tokensPerSecond: 500 },
        { id: 'broken', type: 'openai-chat', baseUrl: upstream.baseUrl },
        { id: 'limited', type: 'openai-chat', baseUrl: upstream.baseUrl },
      ],
      models: [
        { id: 'simulator', routes: [{ provider: 'simulator' }], concurrency: 16 },
        { id: 'flaky', routes: [{ provider: 'simulator', model: 'flaky' }] },
        { id: 'broken', routes: [{ provider: 'broken', model: 'b' }] },
        { id: 'limited', routes: [{ provider: 'limited', model: 'l' }] },
      ],
      recovery: { maxAttempts: 1 },
    },
  }));
  const prometheus = forAllTests(() => {
    const hostOf = (url: string) => new URL(url).host;
    return startPrometheus({
      adminToken,
      targets: {
        'sluice-api': service.adminUrls.map(hostOf),
        'sluice-worker': service.workers.map(({ healthUrl }) => hostOf(healthUrl)),
      },
    });
  });

  const patiently = { timeoutMs: 60_000 };
  const fires = (alert: string, having?: Record<string, string>) =>
    eventually(() => prometheus.firing(alert, having), patiently);
  const ends = (alert: string) =>
    eventually(async () => (await prometheus.firing(alert)) === undefined, patiently);
  const inBackground = (model: string) => service.caller.create({ model, input: 'Hi', background: true });

  /** Asks a few times a second, which is all that a rate needs, until told to stop. */
  function load(ask: () => Promise<unknown>): () => Promise<void> {
    const over = new AbortController();
    const one = async () => {
      for (; !over.signal.aborted; await pause(100)) await ask();
    };
    const all = Promise.all([one(), one()]);
    return async () => {
      over.abort();
      await all;
    };
  }

  it('scrapes every process with the token, and every query of the dashboard shows what it is for', async () => {
    const stop = load(async () => {
      await service.caller.stream({ input: 'Tell me more' });
      await service.caller.create({ input: 'Hi' });
      await inBackground('simulator');
    });
    await eventually(async () => {
      const targets = await prometheus.targets();
      expect(targets.map(({ health }) => health)).toEqual(['up', 'up', 'up']);
      return true;
    }, patiently);
    // Rates need two scrapes of what they count.
    await eventually(async () => {
      const empty: string[] = [];
      for (const { panel, expr } of dashboardQueries()) {
        const result = await prometheus.query(expr);
        if (result.length === 0) empty.push(panel);
      }
      expect(empty.toSorted()).toEqual(shownInTroubleAlone.toSorted());
      return true;
    }, patiently);
    await stop();
    for (const alert of [
      'SluiceProcessDown',
      'SluiceErrors',
      'SluiceWorkerTakesNothing',
      'SluiceStoreNotReady',
    ])
      expect(await prometheus.firing(alert), alert).toBeUndefined();
  });

  // Three things that go wrong at once, and are told apart.
  it.concurrent('tells of a model whose responses fail, every other one', async () => {
    // A rate needs a scrape before the failures that it tells of.
    const stop = load(async () => {
      await service.caller.create({ model: 'flaky', input: 'Hi' });
      await service.caller.create({ model: 'flaky', input: 'Hi [[sluice: fail=upstream_error]]' });
    });
    await fires('SluiceErrors', { model: 'flaky', code: 'upstream_error' });
    await stop();
  });

  it.concurrent('tells of an upstream that fails, and of one whose limit is reached', async () => {
    // Those that find the upstream given up wait for it.
    for (let at = 0; at < 30; at += 1) await inBackground('broken');
    for (let at = 0; at < 4; at += 1) await inBackground('limited');
    await fires('SluiceUpstreamDown', { provider: 'broken' });
    await fires('SluiceUpstreamParked', { provider: 'limited', upstream_model: 'l' });
  });

  it.concurrent('tells of a queue that is paused', async () => {
    const queues = (act: string) =>
      startProcess({
        command: 'queues',
        args: [act, 'simulator'],
        env: { SLUICE_CONFIG: service.file, REDIS_URL: redis.url },
      }).exited;
    expect(await queues('pause')).toMatchObject({ code: 0 });
    await inBackground('simulator');
    await fires('SluiceQueuePaused', { queue: 'simulator' });
    expect(await queues('resume')).toMatchObject({ code: 0 });
    await ends('SluiceQueuePaused');
  });

  it('tells of an api that stood still', async () => {
    const [api] = service.apis;
    const stoppedAt = performance.now();
    api?.signal('SIGSTOP');
    // What is told is a time, and it has to be longer than that of the rule.
    await eventually(() => performance.now() - stoppedAt > 4_500);
    api?.signal('SIGCONT');
    await fires('SluiceEventLoopStalls', { role: 'api' });
    await ends('SluiceProcessDown');
  });

  it('tells of a store that is full, and of work that is refused for it', async () => {
    const used = Number(/^used_memory:(\d+)/m.exec(await service.redis.client.info('memory'))?.[1]);
    await service.redis.client.config('SET', 'maxmemory', String(Math.ceil(used / 0.85)));
    await fires('SluiceStoreNearlyFull');
    await fires('SluiceStoreFull');
    for (let at = 0; at < 10; at += 1) expect((await inBackground('simulator')).status).toBe(503);
    await fires('SluiceRefusesWork');
    await service.redis.client.config('SET', 'maxmemory', '0');
    await ends('SluiceStoreFull');
  });

  it('tells of a store that would evict accepted work', async () => {
    await service.redis.client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await service.redis.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await fires('SluiceStoreNotReady');
    await fires('SluiceStoreUnsafe', { level: 'refuse' });
    await service.redis.client.config('SET', 'maxmemory-policy', 'noeviction');
    await ends('SluiceStoreNotReady');
    await ends('SluiceStoreUnsafe');
  });

  it('tells of work that waits where no worker is', async () => {
    for (const worker of service.workers) await worker.stop();
    await inBackground('simulator');
    await fires('SluiceNoWorker');
    await fires('SluiceQueueWithoutWorker', { queue: 'simulator' });
    await fires('SluiceOldestWaitsLong', { queue: 'simulator' });
    await fires('SluiceProcessDown', { job: 'sluice-worker' });
  });
});

/** Panels with a query that has nothing to show while all is well. */
const shownInTroubleAlone = [
  'Postponed attempts',
  'Retries by code',
  'Calls per second at most', // nothing is bounded
  'Waiting for an upstream', // no upstream has its own queue read
];
