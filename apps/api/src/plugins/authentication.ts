import type { KeyRing, KeySettings } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is calling. Set before any handler of a mount runs. */
    key: KeySettings;
  }
}

/**
 * Finds out who is calling, before anything of the body is read.
 *
 * A missing, malformed, unknown, disabled or expired key gets one and the same answer, which never repeats the
 * key or anything derived from it.
 */
export function registerAuthentication(app: FastifyInstance, keys: KeyRing): void {
  app.decorateRequest('key');
  app.addHook('onRequest', (request, _reply, done) => {
    const key = authenticate(request, keys);
    if (key) {
      request.key = key;
      done();
    } else {
      done(new ServiceError('invalid_api_key'));
    }
  });
}

function authenticate(request: FastifyRequest, keys: KeyRing): KeySettings | undefined {
  const header = request.headers.authorization;
  const key = header === undefined ? undefined : /^Bearer +([\x21-\x7e]{1,512}) *$/i.exec(header)?.[1];
  return key === undefined ? undefined : keys.find(key);
}
