import { createHash, timingSafeEqual } from 'node:crypto';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { ResponseQueue } from '@sluice/queue';
import { loggedError, type Logger } from '@sluice/runtime';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Registry } from 'prom-client';

export interface AdminAppOptions {
  queue: ResponseQueue;
  registry: Registry;
  /** Without one only requests that name a loopback host are answered. */
  token: string | undefined;
  logger: Logger;
}

const dashboardPath = '/queues';

/**
 * The operator's listener, apart from the API and with a credential of its own: the dashboard of the queues,
 * read-only, and the metrics. Jobs carry ids alone, so neither shows a prompt or an answer.
 */
export async function buildAdminApp({
  queue,
  registry,
  token,
  logger,
}: AdminAppOptions): Promise<FastifyInstance> {
  const app = fastify({
    logger: false,
    requestTimeout: 30_000,
    bodyLimit: 64 * 1024,
    forceCloseConnections: true,
  });
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(securityHeaders);
    const refused = refusal(request, token);
    if (!refused) return;
    if (refused === 401) reply.header('www-authenticate', 'Basic realm="Sluice", charset="UTF-8"');
    await reply.code(refused).type(plainText).send(refusalTexts[refused]);
  });
  app.get('/metrics', async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  );
  app.addHook('onSend', (_request, reply, payload, done) => {
    const isPage =
      typeof payload === 'string' && String(reply.getHeader('content-type')).startsWith('text/html');
    done(null, isPage ? payload.replaceAll(foreignLink, '') : payload);
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).type(plainText).send(refusalTexts[404]));
  app.setErrorHandler((error, _request, reply) => {
    logger.error({ err: loggedError(error) }, 'admin request failed');
    return reply.code(500).type(plainText).send(refusalTexts[500]);
  });
  app.get('/', (_request, reply) => reply.redirect(dashboardPath));
  const adapter = new FastifyAdapter();
  adapter.setBasePath(dashboardPath);
  createBullBoard({
    queues: queue.forDashboard().map(
      (each) =>
        new BullMQAdapter(each, {
          readOnlyMode: true,
          allowRetries: false,
          displayName: decodeURIComponent(each.name),
        }),
    ),
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: 'Sluice queues', hideRedisDetails: true } },
  });
  await app.register(adapter.registerPlugin(), { prefix: dashboardPath });
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

/** bull-board's page would like a font from elsewhere, which its policy here forbids: every load was an error. */
const foreignLink = /<link\b[^>]*\bhref="https:\/\/[^>]*>/g;

const plainText = 'text/plain; charset=utf-8';

const refusalTexts = {
  401: 'Send ADMIN_TOKEN as a bearer token, or as the password of basic authentication.\n',
  403: 'Refused: this request did not come from a page of this listener.\n',
  404: 'Not here. There are /queues and /metrics.\n',
  405: 'The dashboard is read-only.\n',
  500: 'Failed for a reason of our own; the log has it.\n',
};

function refusal(request: FastifyRequest, token: string | undefined): 401 | 403 | 405 | undefined {
  // Without a token, a page elsewhere must not reach us through the browser of somebody on this machine.
  if (token === undefined && !isLoopbackHost(request.headers.host)) return 403;
  if (token !== undefined && !carries(request.headers.authorization, token)) return 401;
  if (request.method !== 'GET' && request.method !== 'HEAD') return 405;
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return 403;
  return undefined;
}

function isLoopbackHost(host: string | undefined): boolean {
  return host !== undefined && /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/.test(host);
}

/** Compares in a time that tells nothing about the token. */
function carries(header: string | undefined, token: string): boolean {
  const [scheme = '', credentials = ''] = header?.split(' ', 2) ?? [];
  const given =
    scheme.toLowerCase() === 'basic'
      ? Buffer.from(credentials, 'base64')
          .toString('utf8')
          .replace(/^[^:]*:/, '')
      : credentials;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return /^(basic|bearer)$/i.test(scheme) && timingSafeEqual(digest(given), digest(token));
}
