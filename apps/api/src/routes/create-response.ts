import {
  type CreateResponse,
  isErrorCode,
  parseCreateResponse,
  type Response,
  type ResponseEnd,
  ServiceError,
  withEnd,
} from '@sluice/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiMetrics } from '../api-metrics.ts';
import { callerSignal } from '../caller-signal.ts';
import { type Dialect, responseBody } from '../dialect.ts';
import type { OpenRequests } from '../open-requests.ts';
import { httpStatus } from '../plugins/error-handler.ts';
import { rateLimitHeaders } from '../rate-limit-headers.ts';
import { RateLimited, type ResponseService } from '../response-service.ts';
import { streamResponse } from '../stream-response.ts';

export interface CreateResponseOptions {
  dialect: Dialect;
  service: ResponseService;
  open: OpenRequests;
  metrics: ApiMetrics;
  syncWaitMs: number;
}

/** `POST /responses`: validate, accept, and answer with the whole response or a stream of its events. */
export function registerCreateResponse(app: FastifyInstance, options: CreateResponseOptions): void {
  app.post('/responses', (request, reply) => {
    refuseIdempotencyKey(request);
    const body = parseCreateResponse(request.body);
    return options.open.run((interrupted) =>
      body.stream === true
        ? streamCreated(options, request, reply, body, interrupted)
        : answerWhole(options, request, reply, body, interrupted),
    );
  });
}

async function answerWhole(
  options: CreateResponseOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  body: CreateResponse,
  interrupted: AbortSignal,
): Promise<FastifyReply> {
  const { service, dialect, syncWaitMs } = options;
  const responseId = service.newId();
  const pending = service.relay.awaitEnd(responseId);
  try {
    const gone = callerSignal(reply);
    const response = await acceptFor(options, request, reply, responseId, body);
    const deadline = AbortSignal.timeout(syncWaitMs);
    let end: ResponseEnd | undefined;
    try {
      end = await pending.ended(AbortSignal.any([gone, deadline, interrupted]));
    } catch (error) {
      if (gone.aborted) {
        request.log.info({ responseId }, 'caller left');
        service.leaveQuietly(responseId, body.model);
        return reply;
      }
      await service.leave(responseId, body.model, deadline.aborted ? 'timed_out' : 'caller_left');
      throw deadline.aborted ? waitedTooLong(syncWaitMs) : stopping(error);
    }
    return reply
      .header('content-type', 'application/json; charset=utf-8')
      .send(responseBody(dialect, finished(response, end)));
  } finally {
    pending.close();
  }
}

async function streamCreated(
  options: CreateResponseOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  body: CreateResponse,
  interrupted: AbortSignal,
): Promise<FastifyReply> {
  const { service, dialect, metrics } = options;
  const responseId = service.newId();
  // Attached before the accept: nothing that a worker publishes can come too early.
  const subscription = service.relay.follow(responseId, { cursor: 1, readFirst: false });
  try {
    const response = await acceptFor(options, request, reply, responseId, body);
    const isWhole = await streamResponse({
      reply,
      subscription,
      response,
      interrupted,
      presentation: {
        dialect,
        obfuscate: body.stream_options?.include_obfuscation === true,
        specificationNames: request.headers['openresponses-version'] !== undefined,
      },
      onFirstOutput: () => metrics.firstToken(body.model, reply.elapsedTime),
    });
    if (!isWhole) {
      request.log.info({ responseId }, 'caller left');
      service.leaveQuietly(responseId, body.model);
    }
    return reply;
  } finally {
    subscription.close();
  }
}

/** Accepts and puts the limits on the reply, whichever way it goes. */
async function acceptFor(
  { service }: CreateResponseOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  responseId: string,
  body: CreateResponse,
): Promise<Response> {
  try {
    const { response, rate } = await service.accept(responseId, body, request.caller, request.id);
    reply.headers(rateLimitHeaders(rate));
    return response;
  } catch (error) {
    if (error instanceof RateLimited) reply.headers(rateLimitHeaders(error.rate));
    throw error;
  }
}

/** The response with its end; a failed one is an error to whoever waited for it. */
function finished(response: Response, end: ResponseEnd | undefined): Response {
  if (!end)
    throw new ServiceError('server_error', 'The response is no longer there.', { shouldRetry: false });
  if (end.status !== 'failed' || !end.error) return withEnd(response, end);
  const { code, message, param } = end.error;
  const known = isErrorCode(code) ? code : 'server_error';
  throw new ServiceError(known, message, {
    ...(param !== null && { param }),
    // Its attempts are used up: an SDK that tried again by itself would only multiply the load.
    ...(httpStatus[known] >= 500 && { shouldRetry: false }),
    ...(known === 'server_is_overloaded' && { retryAfterMs: 1_000 }),
  });
}

/** Refused by name until duplicates can be answered as promised. */
function refuseIdempotencyKey(request: FastifyRequest): void {
  if (request.headers['idempotency-key'] === undefined) return;
  throw new ServiceError(
    'unsupported_parameter',
    "The header 'Idempotency-Key' is not supported by this server.",
    {
      param: 'Idempotency-Key',
    },
  );
}

function waitedTooLong(syncWaitMs: number): ServiceError {
  return new ServiceError(
    'timeout',
    `The response did not finish within ${Math.round(syncWaitMs / 1000)} s; it was cancelled. Use a stream for long ones.`,
    { shouldRetry: false },
  );
}

function stopping(cause: unknown): ServiceError {
  return new ServiceError('server_is_overloaded', 'The server is restarting. Please try again.', {
    retryAfterMs: 1_000,
    cause,
  });
}
