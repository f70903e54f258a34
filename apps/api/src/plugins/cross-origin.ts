import type { FastifyInstance } from 'fastify';
import { dialects } from '../responses/dialect.ts';

/** The methods of the routes of a mount. `HEAD` needs no permission. */
const allowedMethods = 'GET, POST, DELETE';

/** How long a browser may keep what it was told, in seconds. A change of the setting takes as long to reach its pages. */
const maxAgeSeconds = 600;

/** A list of names of headers, as browsers send it. */
const headerNames = /^[\w!#$%&'*+.^`|~-]+(?:\s*,\s*[\w!#$%&'*+.^`|~-]+)*$/;

/**
 * Lets pages of other origins call the mounts and read every answer there, also that to a key that is not accepted.
 *
 * A page has the authority of the key that it sends and no other: there are no cookies, and browsers are never told to send
 * credentials. So it may send any header, and read any. Without an origin in the settings nothing is added to any answer.
 */
export function registerCrossOrigin(app: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return;
  app.addHook('onRequest', (request, reply, done) => {
    const { method, headers, url } = request;
    if (!isOfMount(url)) {
      done();
      return;
    }
    const granted = crossOriginHeaders(origins, headers.origin);
    reply.headers(granted);
    const isPreflight = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
    if (isPreflight && 'access-control-allow-origin' in granted) {
      void reply.code(204).headers(preflightHeaders(headers['access-control-request-headers'])).send();
    } else {
      done();
    }
  });
}

/** The headers of an answer to a page, also for answers that are given before any hook runs. */
export function crossOriginHeaders(
  origins: readonly string[],
  origin: string | undefined,
): Record<string, string> {
  if (origins.length === 0) return {};
  const isAny = origins.includes('*');
  // A cache must not give the answer to one origin to another.
  const vary = isAny ? undefined : { vary: 'origin' };
  if (origin === undefined || !(isAny || origins.includes(origin))) return { ...vary };
  return {
    ...vary,
    'access-control-allow-origin': isAny ? '*' : origin,
    // All of them, as no credentials are allowed.
    'access-control-expose-headers': '*',
  };
}

function preflightHeaders(asked: string | undefined): Record<string, string> {
  return {
    'access-control-allow-methods': allowedMethods,
    ...(asked !== undefined &&
      // `*` would not stand for `authorization`.
      headerNames.test(asked) && { 'access-control-allow-headers': asked }),
    'access-control-max-age': String(maxAgeSeconds),
  };
}

function isOfMount(url: string): boolean {
  return dialects.some(({ mount }) => url.startsWith(`${mount}/`));
}
