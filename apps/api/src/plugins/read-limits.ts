import type { KeySettings } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import type { FastifyInstance } from 'fastify';
import type { ReadLimits } from '../read-limits.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a request with a body creates nothing, and counts as a read. */
    isRead?: boolean;
  }
}

/**
 * Refuses a tenant that has read too much in this minute. Comes after authentication. What creates something has limits of
 * its own, in the store.
 */
export function registerReadLimits(app: FastifyInstance, { readLimits }: { readLimits: ReadLimits }): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { takesBody, isRead } = request.routeOptions.config;
    if (takesBody === true && isRead !== true) return done();
    try {
      countRead(readLimits, request.key);
    } catch (error) {
      return done(error as Error); // a ServiceError
    }
    done();
  });
}

/**
 * Counts a read of a tenant.
 *
 * @throws {ServiceError} when it has read too much in this minute.
 */
export function countRead(
  readLimits: ReadLimits,
  { name, limits }: Pick<KeySettings, 'name' | 'limits'>,
): void {
  const waitMs = readLimits.count(name, limits.readsPerMinute);
  if (waitMs !== undefined) throw readLimitReached(limits.readsPerMinute, waitMs);
}

function readLimitReached(limit: number, waitMs: number): ServiceError {
  // Rounded up: a client that obeys the text must not come too early.
  const seconds = Math.ceil(waitMs / 100) / 10;
  const message = `Rate limit reached: ${limit} reads per minute. Please try again in ${seconds}s.`;
  return new ServiceError('rate_limit_exceeded', message, { retryAfterMs: waitMs });
}
