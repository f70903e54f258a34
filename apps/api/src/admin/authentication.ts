import { type FailedLogins, refuseOperator } from '@sluice/runtime';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { adminMount } from './api/admin-mount.ts';
import { sendPlain } from './plain-answers.ts';

/**
 * Lets a request through only if it comes from the operator; runs before any route. Nothing can be changed outside of the admin
 * API, which has a token of its own for that.
 */
export function registerAuthentication(
  app: FastifyInstance,
  operator: { token: string | undefined; failedLogins: FailedLogins },
): void {
  app.addHook('onRequest', async (request, reply) => {
    const refused = await refuseOperator(request.raw, operator);
    if (refused) {
      await sendPlain(reply.headers(refused.headers), refused.status);
      return;
    }
    const misuse = misuseOf(request);
    if (misuse) await sendPlain(reply, misuse);
  });
}

function misuseOf(request: FastifyRequest): 403 | 405 | undefined {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (!isRead && !request.url.startsWith(`${adminMount}/`)) return 405;
  const { 'sec-fetch-site': site, origin, host } = request.headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return 403;
  // Browsers send it with every request that is not a plain read, even browsers that do not know `sec-fetch-site`.
  if (origin !== undefined && !isOriginOf(origin, host)) return 403;
  return undefined;
}

function isOriginOf(origin: string, host: string | undefined): boolean {
  return URL.canParse(origin) && new URL(origin).host === host;
}
