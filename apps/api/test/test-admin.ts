import { ActStore, AuditLog } from '@sluice/operator-acts';
import { createLogger, FailedLogins } from '@sluice/runtime';
import { KeyStore } from '@sluice/stored-keys';
import { eventually } from '@sluice/testing';
import type { FastifyInstance } from 'fastify';
import { expect } from 'vitest';
import type { Act, AuditEntry } from '@sluice/contract/admin';
import { type Acting, type ActingOptions, makeActing } from '../src/admin/acting/acting.ts';
import type { MatchingResponses } from '../src/admin/acting/matching-responses.ts';
import { buildAdminApp } from '../src/admin/admin-app.ts';
import { KeyChanges } from '../src/admin/keys/index.ts';
import { describedAnswers } from './described-answers.ts';
import type { TestApi } from './test-api.ts';
import { testReports } from './test-reports.ts';

export const actionToken = 'action-token-of-the-test';

/** What operators can do with a test api, as a process of it would have it. */
export function actingOf(api: TestApi, more: Partial<ActingOptions> & { leaseMs?: number } = {}): Acting {
  const { commands: connection } = api;
  const keyPrefix = api.keys.prefix;
  const { leaseMs, ...options } = more;
  return makeActing({
    settings: api.settings,
    live: api.live,
    store: api.store,
    queue: api.queue,
    responses: api.responses,
    json: api.json,
    bodyBudget: api.bodyBudget,
    auditLog: new AuditLog({ connection, keyPrefix }),
    actStore: new ActStore({ connection, keyPrefix, ...(leaseMs !== undefined && { leaseMs }) }),
    keyChanges: new KeyChanges({
      store: new KeyStore({ connection, keyPrefix }),
      isSafe: () => api.store.isDurable(),
    }),
    keySettings: () => api.settings,
    failedTokens: new FailedLogins(),
    onRetried: (retried) => api.telemetry.emit('response.repeated', retried),
    onQueueSwitched: () => undefined,
    tails: { pollMs: { first: 20, longest: 50 } },
    reportEveryMs: 20,
    now: api.now,
    logger: loggerOf(api),
    ...options,
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
  acting?: Acting;
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
  acting: Acting;
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
  const acting = options.acting ?? actingOf(api);
  const token = options.actionToken === undefined ? actionToken : (options.actionToken ?? undefined);
  const url = options.apiUrl ?? (await api.listen());
  const app = await buildAdminApp({
    queue: api.queue,
    registry: api.registry,
    settings: { models: api.settings.models, workerConcurrency: 2, console: api.settings.console },
    store: api.store,
    live: api.live,
    acting,
    responses: api.responses,
    clock: api.clock,
    index: api.index,
    reports: testReports(api),
    matching: options.matching ?? api.index,
    token: undefined,
    actionToken: token,
    apiUrl: () => url,
    failedLogins: new FailedLogins(),
    logger: loggerOf(api),
  });
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
    acting,
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
      await acting.acts.stop();
      app.server.closeAllConnections();
      await app.close();
      if (described.problems.length > 0) {
        throw new Error(`not as docs/openapi.json says:\n${described.problems.join('\n')}`);
      }
    },
  };
}
