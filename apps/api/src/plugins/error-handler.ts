import { ServiceError } from '@sluice/contract';
import { UnknownVersion } from '@sluice/response-store';
import {
  isOutOfMemory,
  isRedisUnavailable,
  type Logger,
  loggedError,
  throttledWarning,
} from '@sluice/runtime';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { rateLimitHeaders } from '../rate-limit-headers.ts';
import { RefusalLog } from '../refusal-log.ts';
import { RateLimited, storeFull } from '../responses/refusals.ts';
import { protocolOf } from './request-protocol.ts';

export function registerErrorHandler(app: FastifyInstance, logger: Logger): void {
  // An outage refuses every request for the same reason.
  const { warn } = throttledWarning(logger, 'request refused');
  const refusals = new RefusalLog();
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const known = asServiceError(error);
    if (!known) {
      request.log.error({ err: loggedError(error) }, 'request failed');
    } else if (known.code === 'server_is_overloaded') {
      warn(known.cause ?? known);
    }
    if (known) refusals.write(request, known);
    const internal = 'The server had an error.';
    return sendError(reply, known ?? new ServiceError('server_error', internal, { cause: error }));
  });
  app.setNotFoundHandler(notFoundHandler(app));
}

/** Answers with the error's status, headers and envelope. */
export function sendError(reply: FastifyReply, error: ServiceError): FastifyReply {
  const { request } = reply;
  const { errorBody = errorEnvelope, limitHeaders } = protocolOf(request) ?? {};
  reply.headers(errorHeaders(error));
  if (limitHeaders && error instanceof RateLimited) reply.headers(limitHeaders(error.use));
  if (error.code === 'invalid_api_key') reply.header('www-authenticate', 'Bearer');
  return reply
    .code(error.status)
    .header('content-type', 'application/json; charset=utf-8')
    .send(errorBody(error, request.id));
}

/** Whether and when a client should try again, and where it stands with the limits that refused it. */
export function errorHeaders(error: ServiceError): Record<string, string> {
  const { retryAfterMs, shouldRetry } = error;
  return {
    ...(error instanceof RateLimited && rateLimitHeaders(error.use)),
    ...(retryAfterMs !== undefined && {
      'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))),
      'retry-after-ms': String(Math.max(1, Math.ceil(retryAfterMs))),
    }),
    ...(shouldRetry !== undefined && { 'x-should-retry': String(shouldRetry) }),
  };
}

export function errorEnvelope(error: ServiceError): string {
  return JSON.stringify({ error: error.toBody() });
}

/** The error a client is told, or undefined for one that is a defect of ours. */
export function asServiceError(error: unknown): ServiceError | undefined {
  if (error instanceof ServiceError) return error;
  if (error instanceof Error && error.message === 'aborted') {
    return cutOff(error);
  }
  if (isOutOfMemory(error)) return storeFull(error);
  if (isRedisUnavailable(error)) {
    return new ServiceError('server_is_overloaded', 'The server cannot take requests at the moment.', {
      cause: error,
    });
  }
  if (error instanceof UnknownVersion) {
    const message =
      'This response belongs to another release of the server, which runs beside this one. Please try again.';
    return new ServiceError('server_is_overloaded', message, { cause: error });
  }
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ServiceError('unsupported_media_type');
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ServiceError('request_too_large');
    // The method QUERY, which needs a body.
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':
      return new ServiceError('method_not_allowed');
    case 'FST_ERR_BAD_URL':
      return new ServiceError('invalid_request', 'The path is not a valid URL path.');
    default:
      return undefined;
  }
}

/** Told to nobody, since its caller has left. */
export function cutOff(cause?: unknown): ServiceError {
  return new ServiceError('invalid_request', 'The request was cut off.', { cause });
}

/** Matches an id in a path. Two words in paths of the standard that lead nowhere here are no ids. */
const parameter = '(?!(?:compact|input_tokens)$)[^/]+';

/** 404, or 405 with `Allow` for a path that exists under other methods. */
function notFoundHandler(app: FastifyInstance) {
  const routes: { pattern: RegExp; method: string }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    const pattern = new RegExp(`^${url.replaceAll(/:[a-z]+/gi, parameter).replace(/\*$/, '.+')}$`);
    for (const each of [method].flat()) routes.push({ pattern, method: each });
  });
  return (request: FastifyRequest, reply: FastifyReply) => {
    const path = request.url.split('?', 1)[0] ?? '/';
    const allowed = new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method));
    if (allowed.size === 0) {
      return sendError(reply, new ServiceError('not_found'));
    }
    reply.header('allow', [...allowed].toSorted().join(', '));
    return sendError(reply, new ServiceError('method_not_allowed'));
  };
}
