import type { KeySettings } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import type { FailedLogins } from '@sluice/runtime';
import type { LiveSettings } from '@sluice/tenants';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { callbackify } from 'node:util';

declare module 'fastify' {
  interface FastifyRequest {
    /** The key of the caller. Set before any handler of a mount runs. */
    key: KeySettings;
  }
}

/**
 * Finds out who is calling, before anything of the body is read.
 *
 * A missing, malformed, unknown, disabled or expired key gets one and the same answer, which never repeats the
 * key or anything derived from it. To a client that sends too many of them the answer comes late and says when to try
 * again. It stays the same one: clients try again by themselves after a 429, and would tell of that in place of the key.
 * A good key passes at any time, even if others fail behind the same address.
 *
 * As long as the process has not read the stored keys, it cannot tell whether an unknown key is one of them, and asks to
 * try again.
 */
export function registerAuthentication(
  app: FastifyInstance,
  { live, failedLogins }: { live: Pick<LiveSettings, 'keys'>; failedLogins: Pick<FailedLogins, 'holdBack'> },
): void {
  const refuse = callbackify(async ({ raw }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const throttled = await failedLogins.holdBack(raw);
    if (throttled?.closes) reply.header('connection', 'close');
    throw new ServiceError('invalid_api_key', { ...(throttled && { retryAfterMs: throttled.waitMs }) });
  });
  app.decorateRequest('key');
  app.addHook('onRequest', (request, reply, done) => {
    const key = authenticate(request, live.keys);
    if (key) {
      request.key = key;
      done();
      return;
    }
    const isAttempt =
      request.headers.authorization !== undefined || request.headers['x-api-key'] !== undefined;
    if (isAttempt && !live.keys.isComplete) {
      done(keysNotYetKnown());
      return;
    }
    refuse(request, reply, done);
  });
}

/** The process has not read all keys, so it cannot say that one is unknown. */
export function keysNotYetKnown(): ServiceError {
  return new ServiceError('server_is_overloaded', 'The server cannot check your API key at the moment.');
}

function authenticate(request: FastifyRequest, keys: LiveSettings['keys']): KeySettings | undefined {
  const key = keyOf(request);
  return key === undefined ? undefined : keys.find(key);
}

/**
 * The key of a request as it was sent; undefined if there is none in the form of one. Anthropic's clients send it as `x-api-key`, which
 * counts where there is no `Authorization`.
 */
export function keyOf({ headers }: FastifyRequest): string | undefined {
  const { authorization, 'x-api-key': apiKey } = headers;
  if (authorization !== undefined) return /^Bearer +([\x21-\x7e]{1,512}) *$/i.exec(authorization)?.[1];
  return typeof apiKey === 'string' && /^[\x21-\x7e]{1,512}$/.test(apiKey) ? apiKey : undefined;
}
