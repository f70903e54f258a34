import { type ErrorCode, ServiceError } from '@sluice/contract';
import { isRedisUnavailable, loggedError } from '@sluice/runtime';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** The HTTP status of each error; the one place where a code becomes one. */
export const httpStatus: Record<ErrorCode, number> = {
  missing_required_parameter: 400,
  invalid_type: 400,
  invalid_value: 400,
  integer_below_min_value: 400,
  integer_above_max_value: 400,
  decimal_below_min_value: 400,
  decimal_above_max_value: 400,
  string_above_max_length: 400,
  array_above_max_length: 400,
  empty_array: 400,
  unsupported_parameter: 400,
  unsupported_value: 400,
  invalid_json: 400,
  model_not_found: 400,
  context_length_exceeded: 400,
  previous_response_not_found: 400,
  tool_call_not_found: 400,
  invalid_encrypted_content: 400,
  invalid_prompt: 400,
  invalid_base64_image: 400,
  invalid_image_format: 400,
  invalid_image_url: 400,
  mutually_exclusive_parameters: 400,
  stream_expired: 400,
  invalid_request: 400,
  invalid_api_key: 401,
  model_not_allowed: 403,
  not_found: 404,
  item_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  idempotency_result_gone: 409,
  request_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  idempotency_mismatch: 422,
  upgrade_required: 426,
  rate_limit_exceeded: 429,
  headers_too_large: 431,
  server_error: 500,
  model_error: 500,
  invalid_model_output: 500,
  upstream_error: 502,
  server_is_overloaded: 503,
  timeout: 504,
};

/** How long a client is asked to wait while the store is away, in milliseconds. */
const storeAwayMs = 1_000;

export function registerErrorHandler(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const known = asServiceError(error);
    if (!known) {
      request.log.error({ err: loggedError(error) }, 'request failed');
    } else if (known.code === 'server_is_overloaded') {
      request.log.warn({ err: loggedError(known.cause ?? known) }, 'request refused');
    }
    return sendError(
      reply,
      known ?? new ServiceError('server_error', 'The server had an error.', { cause: error }),
    );
  });
  app.setNotFoundHandler(notFoundHandler(app));
}

/** Answers with the error's status, headers and envelope. */
export function sendError(reply: FastifyReply, error: ServiceError): FastifyReply {
  if (error.retryAfterMs !== undefined) {
    reply.header('retry-after', String(Math.max(1, Math.ceil(error.retryAfterMs / 1000))));
    reply.header('retry-after-ms', String(Math.max(1, Math.ceil(error.retryAfterMs))));
  }
  if (error.shouldRetry !== undefined) reply.header('x-should-retry', String(error.shouldRetry));
  if (error.code === 'invalid_api_key') reply.header('www-authenticate', 'Bearer');
  return reply
    .code(httpStatus[error.code])
    .header('content-type', 'application/json; charset=utf-8')
    .send(errorEnvelope(error));
}

export function errorEnvelope(error: ServiceError): string {
  return JSON.stringify({ error: error.toBody() });
}

/** The error a client is told, or undefined for one that is a defect of ours. */
export function asServiceError(error: unknown): ServiceError | undefined {
  if (error instanceof ServiceError) return error;
  if (error instanceof Error && error.message === 'aborted') {
    return new ServiceError('invalid_request', 'The request was cut off.', { cause: error });
  }
  if (isRedisUnavailable(error)) {
    return new ServiceError('server_is_overloaded', 'The server cannot take requests at the moment.', {
      retryAfterMs: storeAwayMs,
      cause: error,
    });
  }
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ServiceError('request_too_large', 'The request body is too large.');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ServiceError('unsupported_media_type', "The content type must be 'application/json'.");
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new ServiceError('invalid_request', 'The body is not as long as its content-length says.');
    // The method QUERY, which needs a body.
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':
      return new ServiceError('method_not_allowed', 'This path does not take this method.');
    case 'FST_ERR_BAD_URL':
      return new ServiceError('invalid_request', 'The path is not a valid URL path.');
    default:
      return undefined;
  }
}

/** What stands in a path for an id; two words of the standard's paths, which lead nowhere here, are none. */
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
      return sendError(reply, new ServiceError('not_found', 'There is nothing at this path.'));
    }
    reply.header('allow', [...allowed].toSorted().join(', '));
    return sendError(reply, new ServiceError('method_not_allowed', 'This path does not take this method.'));
  };
}
