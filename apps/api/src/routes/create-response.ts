import {
  createResponseHeadersSchema,
  createResponseSchema,
  eventSchema,
  responseBodySchema,
} from '@sluice/contract';
import type { FastifyRequest } from 'fastify';
import type { JsonReader } from '../bodies/json-reader.ts';
import { openEventStream } from '../event-stream.ts';
import type { BodyBudget } from '../bodies/body-budget.ts';
import type { OpenRequests } from '../open-requests.ts';
import { serveCaller } from '../plugins/caller.ts';
import { cutOff } from '../plugins/error-handler.ts';
import { releaseBody } from '../plugins/json-body.ts';
import { holdAnswer } from '../plugins/unread-answers.ts';
import { rateLimitHeaders } from '../rate-limit-headers.ts';
import { type Dialect, responseBody } from '../responses/dialect.ts';
import type { PresentationOptions } from '../responses/event-presentation.ts';
import type { AnswerFacts } from '../responses/create-response.ts';
import { PendingRequest } from '../responses/pending-request.ts';
import { positionHeaders } from '../responses/present-position.ts';
import { RateLimited } from '../responses/refusals.ts';
import type { Responses } from '../responses/responses.ts';
import { anyErrors, bodyErrors, defineRoute, eventStream, json } from '../route.ts';

export interface CreateResponseContext {
  json: JsonReader;
  dialect: Dialect;
  responses: Responses;
  open: OpenRequests;
  bodyBudget: BodyBudget;
}

export const createResponse = defineRoute({
  name: 'createResponse',
  method: 'POST',
  path: '/responses',
  summary: 'Creates a response: whole, as a stream of its events, or in the background.',
  headers: createResponseHeadersSchema,
  body: {
    schema: createResponseSchema,
    example: { model: 'simulator', input: 'Hello!' },
    parse: readBody,
  },
  answers: [json(responseBodySchema), eventStream(eventSchema)],
  errors: [
    ...anyErrors,
    ...bodyErrors,
    'missing_required_parameter',
    'invalid_type',
    'invalid_value',
    'integer_below_min_value',
    'integer_above_max_value',
    'decimal_below_min_value',
    'decimal_above_max_value',
    'string_above_max_length',
    'array_above_max_length',
    'empty_array',
    'unsupported_parameter',
    'unsupported_value',
    'mutually_exclusive_parameters',
    'invalid_encrypted_content',
    'invalid_base64_image',
    'invalid_image_format',
    'invalid_image_url',
    'model_not_found',
    'model_not_allowed',
    'previous_response_not_found',
    'item_not_found',
    'tool_call_not_found',
    'idempotency_mismatch',
    'idempotency_result_gone',
    // What a response can fail with, told to the caller who waits for the whole of it.
    'context_length_exceeded',
    'invalid_prompt',
    'model_error',
    'invalid_model_output',
    'upstream_error',
    'timeout',
  ],
  handle(
    { body: pending, headers, request, reply },
    { dialect, responses, open, bodyBudget }: CreateResponseContext,
  ) {
    return serveCaller({ request, reply, open, bodyBudget }, async (caller) => {
      let isReplayed = false;
      const letGo = request.bodyReservation?.hold();
      const creation = {
        pending,
        idempotencyKey: headers['Idempotency-Key'],
        reserve: (bytes: number) => request.bodyReservation?.grow(bytes),
        onAccepted: (facts: AnswerFacts) => {
          isReplayed = facts.isReplayed;
          letGo?.();
          releaseBody(request);
          reply.headers(headersOf(facts));
        },
      };
      const { stream, stream_options: streamOptions, background } = pending.request;
      try {
        if (stream === true) {
          const obfuscate = streamOptions?.include_obfuscation === true;
          const presentation = presentationOf(request, dialect, obfuscate);
          await responses.create.stream(caller, { ...creation, presentation }, () => openEventStream(reply));
          return reply;
        }
        const isBackground = background === true;
        const created = isBackground
          ? await responses.create.inBackground(caller, creation)
          : await responses.create.whole(caller, creation);
        if (created.kind === 'left') return reply;
        const { response } = created;
        if (isBackground && !isReplayed) {
          reply.header('location', `${dialect.mount}/responses/${response.id}`);
          reply.headers(positionHeaders(response, responses.now()));
        }
        const body = responseBody(dialect, response);
        await holdAnswer(reply, body, caller);
        return reply.type(jsonType).send(body);
      } catch (error) {
        if (error instanceof RateLimited) reply.headers(rateLimitHeaders(error.use));
        throw error;
      } finally {
        letGo?.();
      }
    });
  },
});

/** The bytes go to whoever prepares them, so that nothing holds them any longer than that. */
async function readBody(
  request: FastifyRequest,
  { json: reader }: CreateResponseContext,
): Promise<PendingRequest> {
  const body = request.body as Buffer<ArrayBuffer> | undefined; // as the parser of bodies leaves it
  request.body = undefined;
  const withDigest = request.headers['idempotency-key'] !== undefined;
  const letGo = request.bodyReservation?.hold();
  try {
    const prepared = await reader.prepare(body, { tenant: request.key.name, withDigest });
    if (request.bodyReservation?.isReleased === true) throw cutOff();
    return new PendingRequest(prepared);
  } finally {
    letGo?.();
  }
}

export const jsonType = 'application/json; charset=utf-8';

/** How a reader wants its events, by its request. */
export function presentationOf(
  { headers }: FastifyRequest,
  dialect: Dialect,
  obfuscate: boolean,
): PresentationOptions {
  return { dialect, obfuscate, specificationNames: headers['openresponses-version'] !== undefined };
}

function headersOf({ use, isReplayed }: AnswerFacts): Record<string, string> {
  return { ...rateLimitHeaders(use), ...(isReplayed && { 'idempotent-replayed': 'true' }) };
}
