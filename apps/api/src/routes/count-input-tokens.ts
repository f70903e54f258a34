import { countInputTokensSchema, inputTokensSchema } from '@sluice/contract';
import type { JsonReader } from '../bodies/json-reader.ts';
import type { Responses } from '../responses/responses.ts';
import { anyErrors, bodyErrors, defineRoute, json } from '../route.ts';
import { contextErrors, pendingBody } from './request-body.ts';

interface CountInputTokensContext {
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
  async handle({ body: pending, request }, { responses }: CountInputTokensContext) {
    const unpin = request.bodyReservation?.pin();
    try {
      const reserve = (bytes: number) => request.bodyReservation?.grow(bytes);
      const { tokens, method } = await responses.tokens.count(request.key, pending, reserve);
      return { object: 'response.input_tokens', input_tokens: tokens, method };
    } finally {
      unpin?.();
    }
  },
});
