import type { KeyRing, KeySettings } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is calling. Set before any handler of a mount runs. */
    caller: KeySettings;
  }
}

/**
 * Finds out who is calling, before anything of the body is read.
 *
 * A missing, malformed, unknown, disabled or expired key gets one and the same answer, which never repeats the
 * key or anything derived from it.
 */
export function registerAuthentication(app: FastifyInstance, keys: KeyRing): void {
  app.decorateRequest('caller');
  app.addHook('onRequest', (request, _reply, done) => {
    const caller = authenticate(request, keys);
    if (caller) {
      request.caller = caller;
      done();
    } else {
      done(
        new ServiceError(
          'invalid_api_key',
          'Incorrect or missing API key. Send it as a header: Authorization: Bearer <key>.',
        ),
      );
    }
  });
}

function authenticate(request: FastifyRequest, keys: KeyRing): KeySettings | undefined {
  const header = request.headers.authorization;
  const key = header === undefined ? undefined : /^Bearer +([\x21-\x7e]{1,512}) *$/i.exec(header)?.[1];
  return key === undefined ? undefined : keys.find(key);
}
