import { type FailedLogins, refuseOperator } from '@sluice/runtime';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sendPlain } from './plain-answers.ts';

/** Lets a request through only if it comes from the operator and changes nothing; runs before any route. */
export function registerAuthentication(
  app: FastifyInstance,
  operator: { token: string | undefined; failedLogins: FailedLogins },
): void {
  app.addHook('onRequest', async (request, reply) => {
    const refused = refuseOperator(request.raw, operator);
    if (refused) {
      await sendPlain(reply.headers(refused.headers), refused.status);
      return;
    }
    const misuse = misuseOf(request);
    if (misuse) await sendPlain(reply, misuse);
  });
}

function misuseOf(request: FastifyRequest): 403 | 405 | undefined {
  if (request.method !== 'GET' && request.method !== 'HEAD') return 405;
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return 403;
  return undefined;
}
