import { journalKey } from '@sluice/journal';
import { eventually } from '@sluice/testing';
import { afterAll, afterEach, beforeAll, beforeEach, vi } from 'vitest';
import { type Startable, startable } from './startable.ts';
import { startTestApi, type TestApi, type TestApiOptions } from './test-api.ts';
import type { TestSocket } from './test-socket.ts';

/**
 * Keeps the apis of a test file, and stops them after its last test. The function that it returns starts an api, or takes the one
 * of an earlier test with the same options. To stop it is to keep it for the next test, emptied, unless something in it is under
 * way. Its WebSockets are closed. Its telemetry, its metrics and the reads of a minute go on counting. A test that lets it drain has one that is not kept.
 */
export function keepTestApis(): (options?: TestApiOptions) => Promise<TestApi> {
  const kept = new Map<string, TestApi>();
  afterAll(() => Promise.all(Array.from(kept.values(), (api) => api.stop())));
  return async (options = {}) => {
    const name = JSON.stringify(options);
    const api = kept.get(name) ?? (await startTestApi(options));
    kept.delete(name);
    const sockets: TestSocket[] = [];
    return {
      ...api,
      async connect(connectOptions) {
        const socket = await api.connect(connectOptions);
        sockets.push(socket);
        return socket;
      },
      async stop() {
        await Promise.all(sockets.splice(0).map((socket) => socket.close()));
        vi.restoreAllMocks();
        if (kept.has(name) || !(await isIdle(api, options))) return api.stop();
        await empty(api);
        kept.set(name, api);
      },
    };
  };
}

/** An api that each test starts, and that stops with the test. */
export function startableTestApi(): Startable<TestApi, TestApiOptions> {
  const api = startable(keepTestApis());
  afterEach(() => api.stop());
  return api;
}

/** An api that each test has from its beginning on. */
export function eachTestApi(options?: TestApiOptions): Startable<TestApi, TestApiOptions> {
  const api = startableTestApi();
  beforeEach(() => api.start(options));
  return api;
}

/** One api for all tests of a file, or of a group. */
export function oneTestApi(options?: TestApiOptions): TestApi {
  const api = startable(startTestApi);
  beforeAll(() => api.start(options));
  afterAll(() => api.stop());
  return api;
}

/** Whether nothing is under way, and its Redis is that of the run. What a test has just ended is given a moment. */
async function isIdle(api: TestApi, options: TestApiOptions): Promise<boolean> {
  const { open, sockets, bodyBudget, readLimits, worker, operator, redis, keys } = api;
  const { isKept = true, redisUrl, commandsUrl, subscriberUrl, withoutWorker = false } = options;
  if (!isKept) return false;
  if (operator.index.isRunning || (redisUrl ?? commandsUrl ?? subscriberUrl) !== undefined) return false;
  // The api itself counts them, for a minute.
  if (readLimits.count('first', 10_000) !== undefined) return false;
  try {
    await eventually(
      async () =>
        open.size + sockets.size + bodyBudget.held === 0 &&
        worker.isIdle &&
        (withoutWorker || (await redis.client.zcard(keys.open)) === 0),
      { timeoutMs: 200 },
    );
  } catch {
    return false;
  }
  const metas = await redis.client.keys(`${keys.prefix}bull:*:meta`);
  const paused = await Promise.all(metas.map((meta) => redis.client.hexists(meta, 'paused')));
  return paused.every((found) => found === 0);
}

async function empty(api: TestApi): Promise<void> {
  const { worker, logged, live, settings, memory, redis, keys } = api;
  worker.forget();
  logged.length = 0;
  live.replace(settings);
  memory.usedPercent = 0;
  memory.limitBytes = undefined;
  // All but the lease of the worker, and the marks by which processes find that a store was emptied.
  const left = (await api.stored()).filter((key) => !/\}:(worker:|store-mark:)/.test(key));
  await redis.client.unlink(journalKey(keys.prefix), ...left);
}
