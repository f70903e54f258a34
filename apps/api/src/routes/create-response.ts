import {
  createResponseHeadersSchema,
  createResponseSchema,
  eventSchema,
  responseBodySchema,
} from '@sluice/contract';
import type { Telemetry } from '@sluice/runtime';
import type { FastifyRequest } from 'fastify';
import type { JsonReader } from '../bodies/json-reader.ts';
import { openEventStream } from '../sse.ts';
import type { BodyBudget } from '../bodies/body-budget.ts';
import type { OpenRequests } from '../open-requests.ts';
import { serveCaller } from '../plugins/caller.ts';
import { releaseBody } from '../plugins/json-body.ts';
import { tellingRefusal } from '../refused-creates.ts';
import { rateLimitHeaders } from '../rate-limit-headers.ts';
import type { Dialect } from '../responses/dialect.ts';
import type { PresentationOptions } from '../responses/event-presentation.ts';
import type { AnswerFacts } from '../responses/create-response.ts';
import { positionHeaders } from '../responses/present-position.ts';
import type { Responses } from '../responses/responses.ts';
import { sendAnswer } from '../send-answer.ts';
import { anyErrors, bodyErrors, defineRoute, eventStream, json } from '../route.ts';
import { contextErrors, failureErrors, pendingBody } from './request-body.ts';

export interface CreateResponseContext {
  json: JsonReader;
  dialect: Dialect;
  responses: Responses;
  open: OpenRequests;
  bodyBudget: BodyBudget;
  telemetry: Telemetry;
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
    parse: (request, { json: reader, telemetry }: CreateResponseContext) =>
      tellingRefusal(telemetry, { tenant: request.key.name, model: '' }, () =>
        pendingBody(request, reader, { withDigest: request.headers['idempotency-key'] !== undefined }),
      ),
  },
  answers: [json(responseBodySchema), eventStream(eventSchema)],
  errors: [
    ...anyErrors,
    ...bodyErrors,
    ...contextErrors,
    'tool_call_not_found',
    'idempotency_mismatch',
    'idempotency_result_gone',
    ...failureErrors,
  ],
  handle(
    { body: pending, headers, request, reply },
    { dialect, responses, open, bodyBudget }: CreateResponseContext,
  ) {
    return serveCaller({ request, reply, open, bodyBudget }, async (caller) => {
      let isReplayed = false;
      const unpin = request.bodyReservation?.pin();
      const creation = {
        pending,
        idempotencyKey: headers['Idempotency-Key'],
        reserve: (bytes: number) => request.bodyReservation?.grow(bytes),
        onAccepted: (facts: AnswerFacts) => {
          isReplayed = facts.isReplayed;
          unpin?.();
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
        const { response } = created.answer;
        if (isBackground && !isReplayed) {
          reply.header('location', `${dialect.mount}/responses/${response.id}`);
          reply.headers(positionHeaders(response, responses.now()));
        }
        return await sendAnswer(reply, dialect, created.answer, caller);
      } finally {
        unpin?.();
      }
    });
  },
});

export const jsonType = 'application/json; charset=utf-8';

/** How a reader wants its events, by its request. */
export function presentationOf(
  { headers }: FastifyRequest,
  dialect: Dialect,
  obfuscate: boolean,
): PresentationOptions {
  return { dialect, obfuscate, specificationNames: headers['openresponses-version'] !== undefined };
}

/** Tells which response an answer is about, also one that is an error. */
export function responseIdHeader(responseId: string): Record<string, string> {
  return { 'x-sluice-response-id': responseId };
}

function headersOf({ responseId, use, isReplayed }: AnswerFacts): Record<string, string> {
  return {
    ...responseIdHeader(responseId),
    ...rateLimitHeaders(use),
    ...(isReplayed && { 'idempotent-replayed': 'true' }),
  };
}
