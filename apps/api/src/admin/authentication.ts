import { checkOperator, operatorChallenge } from '@sluice/runtime';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sendPlain } from './plain-answers.ts';

/** Lets a request through only if it comes from the operator and changes nothing; runs before any route. */
export function registerAuthentication(app: FastifyInstance, token: string | undefined): void {
  app.addHook('onRequest', async (request, reply) => {
    const refused = refusal(request, token);
    if (!refused) return;
    if (refused === 401) reply.header('www-authenticate', operatorChallenge);
    await sendPlain(reply, refused);
  });
}

function refusal(request: FastifyRequest, token: string | undefined): 401 | 403 | 405 | undefined {
  const refused = checkOperator(request.raw, token);
  if (refused) return refused;
  if (request.method !== 'GET' && request.method !== 'HEAD') return 405;
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return 403;
  return undefined;
}
