import { inputItemListSchema, listInputItemsQuerySchema, responseParamsSchema } from '@sluice/contract';
import type { PickedPage } from '@sluice/response-store';
import type { BodyBudget } from '../bodies/body-budget.ts';
import type { Responses } from '../responses/responses.ts';
import { anyErrors, defineRoute, json, pageErrors } from '../route.ts';
import { jsonType, responseIdHeader } from './create-response.ts';

export const listInputItems = defineRoute({
  name: 'listInputItems',
  method: 'GET',
  path: '/responses/:id/input_items',
  summary: "The response's own input, page by page, the latest item first.",
  params: responseParamsSchema,
  query: listInputItemsQuerySchema,
  answers: [json(inputItemListSchema)],
  errors: [...anyErrors, ...pageErrors, 'not_found'],
  async handle(
    { params, query, request, reply },
    { responses, bodyBudget }: { responses: Responses; bodyBudget: BodyBudget },
  ) {
    const { name: tenant } = request.key;
    const reading = bodyBudget.open(tenant);
    const reserve = (bytes: number) => reading.grow(bytes);
    const page = await responses
      .inputItems(tenant, params.id, { ...query, reserve })
      .finally(() => reading.release());
    return reply.type(jsonType).headers(responseIdHeader(params.id)).send(printPage(page));
  },
});

/** The page as JSON: its items are printed already, and may be long. */
function printPage({ items, hasMore }: PickedPage): Buffer {
  const ids = { first_id: items[0]?.id ?? null, last_id: items.at(-1)?.id ?? null };
  const rest = JSON.stringify({ ...ids, has_more: hasMore });
  const pieces = items.flatMap((item, at) => [at === 0 ? '' : ',', item.json]);
  return Buffer.concat(
    ['{"object":"list","data":[', ...pieces, '],', rest.slice(1)].map((piece) =>
      typeof piece === 'string' ? Buffer.from(piece) : piece,
    ),
  );
}
