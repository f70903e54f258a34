import type { Act, AuditEntry } from '@sluice/contract/admin';
import type { MatchingResponses, Operator, OperatorOptions } from '@sluice/operator';
import { createLogger, FailedLogins } from '@sluice/runtime';
import { Tenants } from '@sluice/tenants';
import { eventually } from '@sluice/testing';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect } from 'vitest';
import { type AdminAppOptions, buildAdminApp } from '../src/admin/admin-app.ts';
import { makeApiOperator } from '../src/api-operator.ts';
import { describedAnswers } from './described-answers.ts';
import { type Startable, startable } from './startable.ts';
import type { TestApi } from './test-api.ts';

export const actionToken = 'action-token-of-the-test';

/** Another operator of a test api, who knows the keys of its file, and is told of everything sooner. */
export function operatorOf(api: TestApi, replaced: Partial<OperatorOptions> = {}): Operator {
  const { settings } = api;
  return makeApiOperator(
    {
      ...api,
      memory: { used: { usedBytes: 1, limitBytes: 100 }, usedPercent: 1 },
      redis: { facts: undefined, away: [] },
      tenants: new Tenants({
        ...{ settings, live: api.live, connection: api.commands, keyPrefix: api.keyPrefix, store: api.store },
        redisBytes: () => 100,
        isSafe: () => api.store.isDurable(),
        logger: loggerOf(api),
      }),
      onError: () => undefined,
      logger: loggerOf(api),
    },
    {
      index: api.operator.index,
      keys: { known: { file: settings.keys, stored: [], revokedAt: ({ revokedAt }) => revokedAt } },
      tails: { pollMs: { first: 20, longest: 50 } },
      reportEveryMs: 20,
      ...replaced,
    },
  );
}

/** The admin listener of a test api, without tokens. */
export function adminAppOf(api: TestApi, more: Partial<AdminAppOptions> = {}): Promise<FastifyInstance> {
  const { queue, registry, settings, models, live } = api;
  return buildAdminApp({
    ...{ queue, registry, models, live, operator: more.operator ?? operatorOf(api) },
    settings: { models: settings.models, workerConcurrency: 2, console: settings.console },
    token: undefined,
    actionToken: undefined,
    apiUrl: () => 'http://127.0.0.1:3000',
    failedLogins: new FailedLogins({ wait: () => Promise.resolve() }),
    failedTokens: new FailedLogins(),
    logger: loggerOf(api),
    ...more,
  });
}

function loggerOf(api: TestApi) {
  return createLogger({
    name: 'admin',
    level: 'debug',
    destination: { write: (line: string) => api.logged.push(line) },
  });
}

export interface TestAdminOptions {
  operator?: Operator;
  /** Finds what is acted on; the index of the api by default. */
  matching?: MatchingResponses;
  /** Null: the service has none. */
  actionToken?: string | null;
  /** Where the API answers; where the test api does by default. */
  apiUrl?: string;
}

export interface Asked {
  method?: 'GET' | 'POST' | 'DELETE' | 'PUT';
  body?: unknown;
  /** Null: none is sent. */
  token?: string | null;
  headers?: Record<string, string>;
}

export interface AdminAnswer {
  status: number;
  headers: Record<string, unknown>;
  body: Record<string, unknown>;
  text: string;
}

export interface TestAdmin {
  app: FastifyInstance;
  operator: Operator;
  /** Asks for a path below the mount: with POST where there is a body or `method` says so. */
  ask: (path: string, asked?: Asked) => Promise<AdminAnswer>;
  post: (path: string, body?: unknown) => Promise<AdminAnswer>;
  /** Over a socket, which a stream needs. */
  fetch: (path: string, init?: RequestInit) => Promise<Response>;
  audit: () => Promise<AuditEntry[]>;
  /** An act once it is over. */
  ended: (id: unknown) => Promise<Act>;
  stop: () => Promise<void>;
}

/** The admin API over a test api. Every answer is held against the document of the API. */
export async function startTestAdmin(api: TestApi, options: TestAdminOptions = {}): Promise<TestAdmin> {
  const operator = options.operator ?? operatorOf(api, { matching: options.matching });
  const token = options.actionToken === undefined ? actionToken : (options.actionToken ?? undefined);
  const url = options.apiUrl ?? (await api.listen());
  const app = await adminAppOf(api, { operator, actionToken: token, apiUrl: () => url });
  const described = describedAnswers(app);
  let listening: Promise<string> | undefined;
  const listen = () => (listening ??= app.listen({ host: '127.0.0.1', port: 0 }));
  const ask = async (path: string, asked: Asked = {}): Promise<AdminAnswer> => {
    const { body, method = body === undefined ? 'GET' : 'POST', token: sent = actionToken, headers } = asked;
    const answer = await app.inject({
      method,
      url: `/admin/v1${path}`,
      headers: {
        host: 'localhost',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(sent !== null && { 'sluice-action-token': sent }),
        ...headers,
      },
      ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const isJson = String(answer.headers['content-type']).startsWith('application/json');
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: isJson ? answer.json() : {},
      text: answer.body,
    };
  };
  return {
    app,
    operator,
    ask,
    post: (path, body) => ask(path, { method: 'POST', ...(body !== undefined && { body }) }),
    fetch: async (path, init) => fetch(`${await listen()}/admin/v1${path}`, init),
    audit: async () => {
      const { body } = await ask('/audit?limit=200');
      return body['data'] as AuditEntry[];
    },
    ended: (id) =>
      eventually(async () => {
        const { status, body } = await ask(`/acts/${String(id)}`);
        // Just after an outage of Redis it may still be refused.
        expect(status).toBe(200);
        expect(body['state']).not.toBe('running');
        return body as Act;
      }),
    async stop() {
      await operator.acts.stop();
      app.server.closeAllConnections();
      await app.close();
      if (described.problems.length > 0) {
        throw new Error(`not as docs/openapi.json says:\n${described.problems.join('\n')}`);
      }
    },
  };
}

/** The admin API over the api that each test has, from its beginning on. */
export function eachTestAdmin(api: TestApi): Startable<TestAdmin, TestAdminOptions> {
  const admin = startable((options?: TestAdminOptions) => startTestAdmin(api, options));
  beforeEach(() => admin.start());
  afterEach(() => admin.stop());
  return admin;
}
