import type { ResponseQueues } from '@sluice/queue';
import type { FailedLogins, Logger } from '@sluice/runtime';
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { serveInTurn } from '../requests-in-turn.ts';
import { registerAdminApi } from './api/admin-api.ts';
import type { AdminContext } from './api/admin-context.ts';
import { RefusedTokens } from './api/refused-tokens.ts';
import { registerAuthentication } from './authentication.ts';
import { makePlainApp } from './plain-app.ts';
import { consolePath, registerConsole } from './routes/console.ts';
import { registerMetrics } from './routes/metrics.ts';
import { registerQueues } from './routes/queues.ts';
import { registerRoot } from './routes/root.ts';
import { registerScale, type ScaleOptions } from './routes/scale.ts';

export interface AdminAppOptions {
  queue: ResponseQueues;
  registry: Registry;
  settings: ScaleOptions['settings'] & AdminContext['settings'];
  /** The settings with every model that is served, for an autoscaler; `settings` by default. */
  served?: ScaleOptions['settings'];
  models: { readonly queueLimits: ReturnType<ScaleOptions['queueLimits']> };
  live: AdminContext['live'];
  operator: AdminContext['operator'];
  /** Without one only requests that name a loopback host are answered. */
  token: string | undefined;
  /** A request that changes something has to carry it; without one nothing can be changed. */
  actionToken: AdminContext['actionToken'];
  /** None by default. */
  developmentKey?: AdminContext['developmentKey'];
  apiUrl: AdminContext['apiUrl'];
  /** Absent where usage is not counted. */
  usage?: AdminContext['usage'];
  failedLogins: FailedLogins;
  /** The same for action tokens. */
  failedTokens: FailedLogins;
  logger: Logger;
}

/**
 * The operator's listener, apart from the API and with a credential of its own: the console, the admin API it speaks, the
 * dashboard of the queues, the metrics, and the figures for an autoscaler. Only the admin API can change anything, or show a prompt or
 * an answer, and only for a request with the action token.
 */
export async function buildAdminApp({
  queue,
  registry,
  settings,
  served = settings,
  models,
  live,
  operator,
  token,
  actionToken,
  developmentKey = async () => undefined,
  apiUrl,
  usage,
  failedLogins,
  failedTokens: failed,
  logger,
}: AdminAppOptions): Promise<FastifyInstance> {
  const app = makePlainApp(logger);
  serveInTurn(app.server);
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(securityHeaders);
    done();
  });
  registerAuthentication(app, { token, failedLogins });
  const failedTokens = new RefusedTokens({
    failed,
    write: (act, detail) => operator.audit.noteRefusal(act, detail),
  });
  app.addHook('onClose', () => failedTokens.stop());
  registerAdminApi(app, {
    settings,
    live,
    operator,
    actionToken,
    failedTokens,
    developmentKey,
    usage,
    apiUrl,
    logger,
  });
  registerRoot(app, consolePath);
  registerConsole(app);
  registerMetrics(app, registry);
  registerScale(app, { queue, settings: served, queueLimits: () => models.queueLimits });
  registerQueues(app, queue);
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
