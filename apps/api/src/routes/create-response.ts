import {
  createResponseHeadersSchema,
  createResponseSchema,
  eventSchema,
  responseBodySchema,
} from '@sluice/contract';
import type { Telemetry } from '@sluice/runtime';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JsonReader } from '../bodies/json-reader.ts';
import { openEventStream } from '../sse.ts';
import type { BodyBudget } from '../bodies/body-budget.ts';
import type { OpenRequests } from '../open-requests.ts';
import { serveCaller } from '../plugins/caller.ts';
import { releaseBody } from '../plugins/json-body.ts';
import { countRead } from '../plugins/read-limits.ts';
import type { ReadLimits } from '../read-limits.ts';
import { rateLimitHeaders } from '../rate-limit-headers.ts';
import type { Caller } from '../responses/caller.ts';
import { type Dialect, responseBody } from '../responses/dialect.ts';
import type { PresentationOptions } from '../responses/event-presentation.ts';
import type { AnswerFacts, Creation } from '../responses/creation.ts';
import { PendingRequest } from '../responses/pending-request.ts';
import { positionHeaders } from '../responses/present-position.ts';
import type { Responses } from '../responses/responses.ts';
import { sendAnswer } from '../send-answer.ts';
import { defineRoute, eventStream, json } from '../route.ts';
import { creationErrors, preparedCreation } from './request-body.ts';

export interface CreateResponseContext {
  json: JsonReader;
  dialect: Dialect;
  responses: Responses;
  open: OpenRequests;
  bodyBudget: BodyBudget;
  readLimits: ReadLimits;
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
    parse: async (request, context: CreateResponseContext) =>
      new PendingRequest(await preparedCreation(request, context, 'create')),
  },
  answers: [json(responseBodySchema), eventStream(eventSchema)],
  errors: creationErrors,
  handle({ body: pending, headers, request, reply }, context: CreateResponseContext) {
    const { dialect, responses } = context;
    const idempotencyKey = headers['Idempotency-Key'];
    return serveCreation(
      { request, reply },
      context,
      { pending, idempotencyKey },
      async (caller, creation) => {
        const { stream, stream_options: streamOptions, background } = pending.request;
        if (stream === true) {
          const obfuscate = streamOptions?.include_obfuscation === true;
          const presentation = presentationOf(request, dialect, obfuscate);
          await responses.create.stream(caller, { ...creation, presentation }, () => openEventStream(reply));
          return reply;
        }
        let isReplayed = false;
        const isBackground = background === true;
        const created = await (isBackground
          ? responses.create.inBackground(caller, {
              ...creation,
              onAccepted(facts) {
                isReplayed = facts.isReplayed;
                creation.onAccepted(facts);
              },
            })
          : responses.create.whole(caller, creation));
        if (created.kind === 'left') return reply;
        const { response } = created.answer;
        if (isBackground && !isReplayed) {
          reply.header('location', `${dialect.mount}/responses/${response.id}`);
          reply.headers(positionHeaders(response, responses.now(response.id)));
        }
        return sendAnswer(reply, (whole) => responseBody(dialect, whole), created.answer, caller);
      },
    );
  },
});

/**
 * Serves a request that creates a response, whatever its protocol: `serve` delivers it. The body is held until the response
 * is accepted, and the headers say then what is known of it.
 */
export function serveCreation(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { open, bodyBudget, readLimits }: Pick<CreateResponseContext, 'open' | 'bodyBudget' | 'readLimits'>,
  { pending, idempotencyKey }: { pending: PendingRequest; idempotencyKey: string | undefined },
  serve: (caller: Caller, creation: Creation) => Promise<FastifyReply>,
): Promise<FastifyReply> {
  return serveCaller({ request, reply, open, bodyBudget }, async (caller) => {
    const unpin = request.bodyReservation?.pin();
    const creation = {
      pending,
      idempotencyKey,
      reserve: (bytes: number) => request.bodyReservation?.grow(bytes),
      // It creates nothing, and brings an answer as a read does.
      onDuplicate: () => countRead(readLimits, request.key),
      onAccepted: (facts: AnswerFacts) => {
        unpin?.();
        releaseBody(request);
        reply.headers(headersOf(facts));
      },
    };
    try {
      return await serve(caller, creation);
    } finally {
      unpin?.();
    }
  });
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
