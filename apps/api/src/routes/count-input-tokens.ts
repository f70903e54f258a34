import { countInputTokensSchema, inputTokensSchema } from '@sluice/contract';
import type { FastifyRequest } from 'fastify';
import type { JsonReader } from '../bodies/json-reader.ts';
import type { CountedTokens } from '../responses/count-tokens.ts';
import type { PendingRequest } from '../responses/pending-request.ts';
import type { Responses } from '../responses/responses.ts';
import { anyErrors, bodyErrors, defineRoute, json } from '../route.ts';
import { contextErrors, pendingBody } from './request-body.ts';

export interface CountInputTokensContext {
  json: JsonReader;
  responses: Responses;
}

export const countInputTokens = defineRoute({
  name: 'countInputTokens',
  method: 'POST',
  path: '/responses/input_tokens',
  summary: 'Counts the tokens that a model would be given, and calls none.',
  body: {
    schema: countInputTokensSchema,
    example: { model: 'simulator', input: 'Hello!' },
    parse: (request, { json: reader }: CountInputTokensContext) =>
      pendingBody(request, reader, { form: 'count_tokens' }),
  },
  isRead: true,
  answers: [json(inputTokensSchema)],
  errors: [...anyErrors, ...bodyErrors, ...contextErrors],
  async handle({ body: pending, request }, context: CountInputTokensContext) {
    const { tokens, method } = await countedTokens(request, pending, context);
    return { object: 'response.input_tokens', input_tokens: tokens, method };
  },
});

/** Counts with the body held, whatever the protocol of the request. */
export async function countedTokens(
  request: FastifyRequest,
  pending: PendingRequest,
  { responses }: Pick<CountInputTokensContext, 'responses'>,
): Promise<CountedTokens> {
  const unpin = request.bodyReservation?.pin();
  try {
    const reserve = (bytes: number) => request.bodyReservation?.grow(bytes);
    return await responses.tokens.count(request.key, pending, reserve);
  } finally {
    unpin?.();
  }
}
