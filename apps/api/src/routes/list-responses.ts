import { listResponsesQuerySchema, responseListSchema } from '@sluice/contract';
import { type Dialect, presentResponse } from '../responses/dialect.ts';
import type { Responses } from '../responses/responses.ts';
import { anyErrors, defineRoute, json } from '../route.ts';

export interface ListResponsesContext {
  dialect: Dialect;
  responses: Responses;
}

export const listResponses = defineRoute({
  name: 'listResponses',
  method: 'GET',
  path: '/responses',
  summary: "The tenant's stored responses, newest first: an addition of this service.",
  query: listResponsesQuerySchema,
  answers: [json(responseListSchema)],
  errors: [
    ...anyErrors,
    'invalid_type',
    'invalid_value',
    'integer_below_min_value',
    'integer_above_max_value',
  ],
  async handle({ query, request }, { dialect, responses }: ListResponsesContext) {
    const { limit, after } = query;
    const { responses: page, hasMore } = await responses.list(request.key.name, { after, limit });
    const data = page.map((response) => presentResponse(dialect, response));
    return {
      object: 'list',
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: hasMore,
    };
  },
});
