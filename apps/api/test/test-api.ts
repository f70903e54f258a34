import { loadSettings, type Settings } from '@sluice/config';
import { type CellKeys, defaultCell, type Lease, ProcessLease } from '@sluice/response-store';
import {
  bulkReadClient,
  closeRedis,
  type commandClient,
  createLogger,
  FailedLogins,
  subscriberClient,
  waitForRedis,
} from '@sluice/runtime';
import { createKey } from '@sluice/tenants';
import { latch, testRedis, type TestRedis } from '@sluice/testing';
import { apiClients, closeConnections } from '@sluice/wiring';
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { type ApiParts, makeApiParts } from '../src/api-parts.ts';
import { buildApp } from '../src/app.ts';
import type { JsonReader } from '../src/bodies/json-reader.ts';
import type { SocketTimes } from '../src/websocket/socket-connection.ts';
import { describedAnswers } from './described-answers.ts';
import { type ScriptedWorker, startScriptedWorker } from './scripted-worker.ts';
import { openSocket, type SocketOptions, type TestSocket } from './test-socket.ts';

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
  tokens: createKey(),
  crowded: createKey(),
  capped: createKey(),
  /** Three reads a minute. */
  reader: createKey(),
  /** 300 tokens a day, and 0.01 of the currency a month. */
  budgeted: createKey(),
};

export const model = 'm';

export interface TestApiOptions {
  /** Whether another test may have it, too, which is true by default; see `keepTestApis`. */
  isKept?: boolean;
  redisUrl?: string;
  /** Ways of the api to the same Redis that a test can make unreliable. */
  commandsUrl?: string;
  subscriberUrl?: string;
  bodyBytes?: number;
  bodyBytesInFlight?: number;
  contextBytes?: number;
  contextTurns?: number;
  /** Requests that may be open at once; see `OpenRequests`. */
  mostCallers?: number;
  /** Most responses that wait in all. */
  queued?: number;
  syncWaitMs?: number;
  stalledMs?: number;
  webSockets?: boolean;
  corsOrigins?: string[];
  webSocketContextBytes?: number;
  socketTimes?: Partial<SocketTimes>;
  longPollMs?: number;
  /** Holds back an answer to a failed log-in; not at all by default. */
  holdBack?: (ms: number) => Promise<unknown>;
  /** How long a thread may take for one body or count, in milliseconds. */
  threadMs?: number;
  /** The provider of all models as the api knows it, in YAML: its members besides `id`. A simulator by default. */
  provider?: string;
  /** Leaves responses where they are: nobody runs them. */
  withoutWorker?: boolean;
  /** Holds no lease, as if it had lapsed. */
  withoutLease?: boolean;
  /** Whether the api and its worker keep the journal; true by default. */
  journal?: boolean;
}

/** The routes over a Redis of the run, with a worker that does what the test says. */
export interface TestApi extends Omit<ApiParts, 'memory' | 'keys' | 'redis'> {
  app: FastifyInstance;
  /** What the api started with. */
  settings: Settings & { redisUrl: string };
  /** How full the memory of Redis is said to be. */
  memory: TestMemory;
  redis: TestRedis;
  keys: CellKeys;
  registry: Registry;
  json: JsonReader;
  /** The way of the api to Redis for short commands. */
  commands: ReturnType<typeof commandClient>;
  /** The store's clock. */
  now: () => number;
  worker: ScriptedWorker;
  /** Lines of the log. */
  logged: string[];
  /** Posts a body to the create route of a mount, or to another one. */
  create(body: unknown, options?: CreateOptions): Promise<Answer>;
  /** The same over a socket, which a stream needs; `stream: true` is added. */
  stream(body: object, options?: CreateOptions): Promise<Response>;
  get(path: string, key?: string): Promise<Answer>;
  /** Over a socket, which a stream needs; with a key of its own unless the headers have another. */
  fetch(path: string, init?: FetchOptions): Promise<Response>;
  /** Opens a WebSocket. Its events are held against the document of the API, as all are. */
  connect(options?: ConnectOptions): Promise<TestSocket>;
  /** Every key in Redis but those of the process itself. */
  stored(): Promise<string[]>;
  /** Starts to listen; resolves with the base URL. */
  listen(): Promise<string>;
  stop(): Promise<void>;
}

interface TestMemory {
  usedPercent: number;
  /** Most memory that it may use; undefined by default, when nobody knows. */
  limitBytes: number | undefined;
}

function testMemory(): TestMemory & ApiParts['memory'] {
  return {
    usedPercent: 0,
    limitBytes: undefined,
    get used() {
      return this.limitBytes === undefined ? undefined : { usedBytes: 0, limitBytes: this.limitBytes };
    },
    start: () => undefined,
    stop: () => undefined,
  };
}

export interface CreateOptions {
  key?: string;
  mount?: string;
  headers?: Record<string, string>;
  /** Where it is sent below the mount, by default to the create route. */
  path?: string;
  signal?: AbortSignal;
}

export interface FetchOptions extends Omit<RequestInit, 'headers'> {
  headers?: Record<string, string>;
}

export interface ConnectOptions extends Partial<SocketOptions> {
  mount?: string;
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
providers: [{ id: none, ${options.provider ?? 'type: simulator'} }]
models:
  - { id: ${model}, routes: [{ provider: none }] }
  - { id: other, routes: [{ provider: none }], price: { input: 10, output: 40 } }
  - { id: vendor/model, routes: [{ provider: none }] }
  - { id: counted, routes: [{ provider: none, model: gpt-4o }] }
  - { id: small, routes: [{ provider: none }], contextTokens: 100, maxOutputTokens: 90 }
keys:
  - { name: first, key: ${apiKeys.first} }
  - { name: second, key: ${apiKeys.second} }
  - { name: narrow, key: ${apiKeys.narrow}, models: [other] }
  - { name: disabled, key: ${apiKeys.disabled}, disabled: true }
  - { name: expired, key: ${apiKeys.expired}, expiresAt: '2020-01-01' }
  - { name: limited, key: ${apiKeys.limited}, limits: { requestsPerMinute: 2 } }
  - { name: short, key: ${apiKeys.short}, limits: { queued: 1 } }
  - { name: tokens, key: ${apiKeys.tokens}, limits: { tokensPerMinute: 1000 } }
  - { name: crowded, key: ${apiKeys.crowded}, limits: { concurrent: 2 } }
  - { name: capped, key: ${apiKeys.capped}, limits: { maxOutputTokens: 50, queuedBytes: 1024 } }
  - { name: reader, key: ${apiKeys.reader}, limits: { readsPerMinute: 3 } }
  - { name: budgeted, key: ${apiKeys.budgeted}, limits: { tokensPerDay: 300 }, budget: { spendPerMonth: 0.01 } }
limits:
  bodyBytes: ${options.bodyBytes ?? 1_000_000}
  bodyBytesInFlight: ${options.bodyBytesInFlight ?? 268_435_456}
  contextBytes: ${options.contextBytes ?? 67_108_864}
  contextTurns: ${options.contextTurns ?? 1_000}
  queued: ${options.queued ?? 1_000}
  webSocketsPerTenant: 3
  webSocketContextBytes: ${options.webSocketContextBytes ?? 1_000_000}
console: { journal: ${options.journal ?? true} }
timeouts: { syncWaitMs: ${options.syncWaitMs ?? 20_000} }
logLevel: debug
server: { port: 0, adminPort: 0, webSockets: ${options.webSockets ?? true} }
drainTimeoutMs: 5000
`;
  const settings = loadSettings({
    env: { REDIS_URL: redisUrl },
    argv: [],
    cwd: '/',
    role: 'api',
    readFile: () => file,
  });
  // A file may not say so of a simulator.
  const hostedTools: ('web_search' | 'mcp')[] = ['web_search', 'mcp'];
  return {
    ...settings,
    models: settings.models.map((each) => (each.id === 'other' ? { ...each, hostedTools } : each)),
  };
}

/** The api as it is composed, with parts in place of those that a test decides on. */
export async function startTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const redis = await testRedis(options.redisUrl);
  const redisUrl = options.commandsUrl ?? redis.url;
  const settings = { ...testSettings(redisUrl, `${redis.prefix}:`, options), redisUrl };
  const logged: string[] = [];
  const logger = createLogger({
    name: 'api',
    level: 'debug',
    destination: { write: (line: string) => logged.push(line) },
  });
  const clients = apiClients(redisUrl, { logger });
  const subscriberUrl = options.subscriberUrl ?? redis.url;
  if (subscriberUrl !== redisUrl) {
    await closeRedis(clients.subscriber);
    clients.subscriber = subscriberClient(subscriberUrl, { logger });
  }
  // A machine that does much else answers late. A test that is about that has a way that it can make unreliable.
  if (options.redisUrl === undefined && options.commandsUrl === undefined) {
    await closeRedis(clients.commands);
    clients.commands = bulkReadClient(redisUrl, { logger, connectionName: 'sluice-commands' });
  }
  const memory = testMemory();
  const parts = makeApiParts({
    settings,
    logger,
    hasStarted: () => false,
    isStopping: () => false,
    acceptingNow: (clock) => clock.now(),
    replaced: {
      clients,
      memory,
      // A lease of the event loop starts sooner than a thread.
      leaseOver: (keys) =>
        options.withoutLease === true
          ? noLease
          : new ProcessLease({ commands: clients.commands, keys, onError: () => undefined }),
      onListenerError: (error) => {
        throw error;
      },
      ...(options.mostCallers !== undefined && { mostCallers: options.mostCallers }),
      ...(options.threadMs !== undefined && { threadMs: options.threadMs }),
      ...(options.socketTimes && { socketTimes: options.socketTimes }),
      indexHealEveryMs: 200,
    },
  });
  const { commands, bulk, largeValues, longEnds } = clients;
  const { live, store, clock, sealing, sockets, open, bodies, responses, operator } = parts;
  live.replace(settings);
  await Promise.all(
    [commands, bulk, largeValues, longEnds].map((client) =>
      waitForRedis(client, AbortSignal.timeout(10_000)),
    ),
  );
  await clock.start();
  await store.start();
  await parts.cellWatch.start(new AbortController().signal);
  await parts.cellCounts.start();
  await sealing.start();
  const keys = store.keys.inCell(defaultCell);
  const app = buildApp({
    ...parts,
    failedLogins: new FailedLogins({ wait: options.holdBack ?? (() => Promise.resolve()) }),
    readiness: () => Promise.resolve({ isReady: true, checks: {} }),
    isStopping: () => false,
    logger,
    json: bodies.reader,
    stalledMs: options.stalledMs,
    longPollMs: options.longPollMs,
    corsOrigins: options.corsOrigins,
    startedAt: 1_000,
  });
  const described = describedAnswers(app);
  await app.ready();
  const worker = options.withoutWorker
    ? idleWorker
    : await startScriptedWorker({
        redisUrl: redis.url,
        keyPrefix: settings.keyPrefix,
        models: settings.models.map(({ id }) => id),
        contextTokens: { small: 100 },
        journal: options.journal ?? true,
      });
  let listening: Promise<string> | undefined;
  const listen = () => (listening ??= app.listen({ host: '127.0.0.1', port: 0 }));
  const own =
    /\}:(api:|cells$|cell-processes$|stats:|process(es$|es:|:)|rescuer:|forgotten-jobs:|sealing-key$|journal$|outbox(:|$)|bull:[^:]+:(meta|id|stalled-check|marker)$)/;
  return {
    ...parts,
    app,
    settings,
    memory,
    redis,
    keys,
    registry: parts.metrics.registry,
    json: bodies.reader,
    commands,
    now: () => clock.now(),
    worker,
    logged,
    async create(body, { key = apiKeys.first, mount = '/v1', path = '/responses', headers = {} } = {}) {
      const response = await app.inject({
        method: 'POST',
        url: `${mount}${path}`,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      });
      return answerOf(response);
    },
    async stream(
      body,
      { key = apiKeys.first, mount = '/v1', path = '/responses', headers = {}, signal } = {},
    ) {
      const answer = await fetch(`${await listen()}${mount}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ ...body, stream: true }),
        ...(signal && { signal }),
      });
      return described.watch(answer, path);
    },
    async get(url, key = apiKeys.first) {
      return answerOf(await app.inject({ url, headers: { authorization: `Bearer ${key}` } }));
    },
    fetch: async (path, { headers, ...init } = {}) =>
      fetch(`${await listen()}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${apiKeys.first}`, ...headers },
      }),
    async connect({ mount = '/v1', ...more } = {}) {
      const url = `${(await listen()).replace('http', 'ws')}${mount}/responses`;
      return openSocket(url, { key: apiKeys.first, onEvent: described.look, ...more });
    },
    async stored() {
      const all = await redis.client.keys(`${keys.prefix}*`);
      return all.filter((name) => !own.test(name)).toSorted();
    },
    listen,
    async stop() {
      sockets.drain();
      await open.drain(0);
      sockets.terminate();
      const closing = app.close();
      // `fetch` may have opened one that has asked for nothing, which Node.js does not take for idle.
      app.server.closeAllConnections();
      await closing;
      await bodies.stop();
      await responses.stop();
      await operator.stop();
      await worker.stop();
      await sealing.stop();
      await store.stop();
      parts.metrics.stop();
      await closeConnections(parts);
      await redis.close();
      if (described.problems.length > 0) {
        throw new Error(`not as docs/openapi.json says:\n${described.problems.join('\n')}`);
      }
    },
  };
}

/** In place of a lease, for an api that shows no sign of life. */
const noLease: Lease = { start: () => Promise.resolve(), stop: () => Promise.resolve() };

/** In place of a worker, for responses that are to stay where they are. */
const idleWorker: ScriptedWorker = {
  runs: [],
  onRun: () => undefined,
  answer: () => undefined,
  hold: () => ({ begun: latch(), goOn: latch() }),
  isIdle: true,
  forget: () => undefined,
  stop: () => Promise.resolve(),
};

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
