import { createKey, KeyRing, loadSettings, type Settings } from '@sluice/config';
import { redisKeys, Relay, type RedisKeys } from '@sluice/event-log';
import { queueName, ResponseQueue } from '@sluice/queue';
import { closeRedis, commandClient, createLogger, RedisClock, subscriberClient } from '@sluice/runtime';
import { testRedis, type TestRedis } from '@sluice/testing';
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { apiMetrics } from '../src/api-metrics.ts';
import { buildApp } from '../src/app.ts';
import { OpenRequests } from '../src/open-requests.ts';
import { ResponseService } from '../src/response-service.ts';
import { startTinyWorker, type TinyWorker } from './tiny-worker.ts';

/** Keys of the tenants that every test api knows. */
export const apiKeys = {
  first: createKey(),
  second: createKey(),
  /** May use `other` alone. */
  narrow: createKey(),
  disabled: createKey(),
  expired: createKey(),
  /** Two requests a minute. */
  limited: createKey(),
  /** One waiting response. */
  short: createKey(),
};

export const model = 'm';

export interface TestApiOptions {
  redisUrl?: string;
  bodyBytes?: number;
  /** Most responses that wait in all. */
  queued?: number;
  syncWaitMs?: number;
  /** Leaves responses where they are: nobody runs them. */
  withoutWorker?: boolean;
}

/** The routes over a Redis of the run, with a worker that does what the test says. */
export interface TestApi {
  app: FastifyInstance;
  redis: TestRedis;
  keys: RedisKeys;
  registry: Registry;
  queue: ResponseQueue;
  open: OpenRequests;
  worker: TinyWorker;
  /** Lines of the log. */
  logged: string[];
  /** Posts a body to the create route of a mount. */
  create(body: unknown, options?: CreateOptions): Promise<Answer>;
  /** The same over a socket, which a stream needs; `stream: true` is added. */
  stream(body: object, options?: CreateOptions): Promise<Response>;
  get(path: string, key?: string): Promise<Answer>;
  /** Every key in Redis but those of the process itself. */
  stored(): Promise<string[]>;
  /** Starts to listen; resolves with the base URL. */
  listen(): Promise<string>;
  stop(): Promise<void>;
}

export interface CreateOptions {
  key?: string;
  mount?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  text: string;
  json: () => Record<string, unknown>;
}

/** Settings as an operator would write them. */
export function testSettings(redisUrl: string, keyPrefix: string, options: TestApiOptions): Settings {
  const file = `
keyPrefix: '${keyPrefix}'
providers: [{ id: none, type: simulator }]
models:
  - { id: ${model}, routes: [{ provider: none }] }
  - { id: other, routes: [{ provider: none }] }
  - { id: vendor/model, routes: [{ provider: none }] }
keys:
  - { name: first, key: ${apiKeys.first} }
  - { name: second, key: ${apiKeys.second} }
  - { name: narrow, key: ${apiKeys.narrow}, models: [other] }
  - { name: disabled, key: ${apiKeys.disabled}, disabled: true }
  - { name: expired, key: ${apiKeys.expired}, expiresAt: '2020-01-01' }
  - { name: limited, key: ${apiKeys.limited}, limits: { requestsPerMinute: 2 } }
  - { name: short, key: ${apiKeys.short}, limits: { queued: 1 } }
limits: { bodyBytes: ${options.bodyBytes ?? 1_000_000}, queued: ${options.queued ?? 1_000} }
timeouts: { syncWaitMs: ${options.syncWaitMs ?? 20_000} }
logLevel: debug
server: { port: 0, adminPort: 0 }
drainTimeoutMs: 5000
`;
  return loadSettings({
    env: { REDIS_URL: redisUrl },
    argv: [],
    cwd: '/',
    role: 'api',
    readFile: () => file,
  });
}

export async function startTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const redis = await testRedis(options.redisUrl);
  const settings = testSettings(redis.url, `${redis.prefix}:`, options);
  const logged: string[] = [];
  const logger = createLogger({
    name: 'api',
    level: 'debug',
    destination: { write: (line: string) => logged.push(line) },
  });
  const keys = redisKeys(settings.keyPrefix);
  const names = settings.models.map(({ queue }) => queueName(queue));
  const commands = commandClient(redis.url, { logger });
  const subscriber = subscriberClient(redis.url, { logger });
  await new Promise((resolve) => commands.once('ready', resolve));
  const clock = new RedisClock({ client: commands, logger });
  await clock.start();
  const queue = new ResponseQueue({
    connection: commands,
    keyPrefix: keys.prefix,
    names,
    keep: { completed: 10, failed: 10 },
    onError: () => undefined,
  });
  const apiProcess = keys.apiProcess('test');
  const relay = new Relay({ subscriber, commands, keys, apiProcess, onError: () => undefined });
  await relay.start();
  const service = new ResponseService({
    settings,
    redis: commands,
    keys,
    queue,
    relay,
    apiProcess,
    now: () => clock.now(),
    logger,
  });
  const registry = new Registry();
  const open = new OpenRequests();
  const app = buildApp({
    service,
    keys: new KeyRing({ keys: settings.keys }),
    open,
    metrics: apiMetrics(registry, queue, () => open.size),
    readiness: () => Promise.resolve({ isReady: true, checks: {} }),
    isStopping: () => false,
    logger,
    bodyBytes: settings.limits.bodyBytes,
    syncWaitMs: settings.timeouts.syncWaitMs,
    startedAt: 1_000,
  });
  await app.ready();
  const worker = await startTinyWorker(redis, keys, options.withoutWorker ? [] : names);
  let listening: Promise<string> | undefined;
  const listen = () => (listening ??= app.listen({ host: '127.0.0.1', port: 0 }));
  const own = new RegExp(`^${keys.prefix}(api:|bull:[^:]+:(meta|id|stalled-check|marker)$)`);
  return {
    app,
    redis,
    keys,
    registry,
    queue,
    open,
    worker,
    logged,
    async create(body, { key = apiKeys.first, mount = '/v1', headers = {} } = {}) {
      const response = await app.inject({
        method: 'POST',
        url: `${mount}/responses`,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      });
      return answerOf(response);
    },
    async stream(body, { key = apiKeys.first, mount = '/v1', headers = {}, signal } = {}) {
      return fetch(`${await listen()}${mount}/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ ...body, stream: true }),
        ...(signal && { signal }),
      });
    },
    async get(url, key = apiKeys.first) {
      return answerOf(await app.inject({ url, headers: { authorization: `Bearer ${key}` } }));
    },
    async stored() {
      const all = await redis.client.keys(`${keys.prefix}*`);
      return all.filter((name) => !own.test(name)).toSorted();
    },
    listen,
    async stop() {
      await open.drain(0);
      await app.close();
      await service.stop();
      await worker.stop();
      await relay.stop();
      await queue.close();
      clock.stop();
      await closeRedis(subscriber);
      await closeRedis(commands);
      await redis.close();
    },
  };
}

function answerOf(response: Awaited<ReturnType<FastifyInstance['inject']>>): Answer {
  return {
    status: response.statusCode,
    headers: Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
    ),
    text: response.body,
    json: () => response.json(),
  };
}
