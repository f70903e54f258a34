import type { ResponseQueue } from '@sluice/queue';
import { type FailedLogins, loggedError, type Logger, type RedisClock } from '@sluice/runtime';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Registry } from 'prom-client';
import { serveInTurn } from '../requests-in-turn.ts';
import type { Responses } from '../responses/responses.ts';
import { registerAdminApi } from './api/admin-api.ts';
import type { AdminContext } from './api/admin-context.ts';
import { registerAuthentication } from './authentication.ts';
import { sendPlain } from './plain-answers.ts';
import type { DetailSources } from './response-detail.ts';
import type { ResponseIndex } from './response-index.ts';
import { consolePath, registerConsole } from './routes/console.ts';
import { registerMetrics } from './routes/metrics.ts';
import { registerQueues } from './routes/queues.ts';
import { registerRoot } from './routes/root.ts';
import { registerScale, type ScaleOptions } from './routes/scale.ts';

export interface AdminAppOptions {
  queue: ResponseQueue;
  registry: Registry;
  settings: ScaleOptions['settings'] & AdminContext['settings'];
  store: DetailSources['store'];
  responses: Pick<Responses, 'positionOf'>;
  clock: Pick<RedisClock, 'now'>;
  index: ResponseIndex;
  /** The index by default. */
  matching?: AdminContext['matching'];
  live: AdminContext['live'];
  acting: AdminContext['acting'];
  /** Without one only requests that name a loopback host are answered. */
  token: string | undefined;
  /** What changes something has to carry it; without one nothing can be changed. */
  actionToken: AdminContext['actionToken'];
  apiUrl: AdminContext['apiUrl'];
  reports: AdminContext['reports'];
  failedLogins: FailedLogins;
  logger: Logger;
}

/**
 * The operator's listener, apart from the API and with a credential of its own: the console, the admin API it speaks, the
 * dashboard of the queues, the metrics, and what an autoscaler asks. Only the admin API can change anything, or show a prompt or
 * an answer, and only for who has the action token.
 */
export async function buildAdminApp({
  queue,
  registry,
  settings,
  store,
  responses,
  clock,
  index,
  matching = index,
  live,
  acting,
  token,
  actionToken,
  apiUrl,
  reports,
  failedLogins,
  logger,
}: AdminAppOptions): Promise<FastifyInstance> {
  const loggerInstance: FastifyBaseLogger = logger;
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    requestTimeout: 30_000,
    bodyLimit: 64 * 1024,
    forceCloseConnections: true,
    // An id that is too long is an unknown one.
    routerOptions: { maxParamLength: 16 * 1024 },
  });
  serveInTurn(app.server);
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(securityHeaders);
    done();
  });
  registerAuthentication(app, { token, failedLogins });
  app.setNotFoundHandler((_request, reply) => sendPlain(reply, 404));
  app.setErrorHandler((error, _request, reply) => {
    logger.error({ err: loggedError(error) }, 'admin request failed');
    return sendPlain(reply, 500);
  });
  const detail: DetailSources = {
    ...{ index, store, models: settings.models },
    position: (name, responseId) => responses.positionOf(name, responseId),
    now: () => clock.now(),
  };
  registerAdminApi(app, {
    settings,
    live,
    acting,
    index,
    matching,
    detail,
    reports,
    actionToken,
    apiUrl,
    logger,
  });
  registerRoot(app, consolePath);
  await registerConsole(app);
  registerMetrics(app, registry);
  registerScale(app, { queue, settings });
  await registerQueues(app, queue);
  return app;
}

const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  // bull-board's page starts itself with an inline script.
  'content-security-policy':
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'; base-uri 'self'; form-action 'none'",
};
