import {
  inputItemListSchema,
  listInputItemsQuerySchema,
  responseParamsSchema,
  ServiceError,
} from '@sluice/contract';
import type { Responses } from '../responses/responses.ts';
import { anyErrors, defineRoute, json } from '../route.ts';

export const listInputItems = defineRoute({
  method: 'GET',
  path: '/responses/:id/input_items',
  summary: "The response's own input, page by page, the latest item first.",
  params: responseParamsSchema,
  query: listInputItemsQuerySchema,
  answers: [json(inputItemListSchema)],
  errors: [
    ...anyErrors,
    'invalid_type',
    'invalid_value',
    'integer_below_min_value',
    'integer_above_max_value',
    'not_found',
  ],
  async handle({ params, query, request }, { responses }: { responses: Responses }) {
    const { limit, order, after } = query;
    const items = await responses.inputItems(request.key.name, params.id);
    if (order === 'desc') items.reverse();
    const first = firstAfter(items, after);
    const data = items.slice(first, first + limit);
    return {
      object: 'list',
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: first + limit < items.length,
    };
  },
});

function firstAfter(items: readonly { id: string }[], after: string | undefined): number {
  if (after === undefined) return 0;
  const index = items.findIndex(({ id }) => id === after);
  if (index < 0)
    throw new ServiceError('invalid_value', "'after' names no item of this response.", { param: 'after' });
  return index + 1;
}
