import { ServiceError } from '@sluice/contract';
import type { FastifyInstance } from 'fastify';
import { type Query, readChoice, readInclude, readInteger } from '../query.ts';
import { findResponse, type ResponseParams } from '../response-params.ts';
import type { ResponseService } from '../response-service.ts';

export const pageBounds = { min: 1, max: 100, standard: 20 };

/** `GET /responses/{id}/input_items`: the response's own input, page by page, the latest item first. */
export function registerListInputItems(
  app: FastifyInstance,
  { service }: { service: ResponseService },
): void {
  app.get<{ Params: ResponseParams; Querystring: Query }>('/responses/:id/input_items', async (request) => {
    const { query } = request;
    const limit = readInteger(query, 'limit', pageBounds);
    const order = readChoice(query, 'order', ['desc', 'asc']);
    readInclude(query);
    const record = await findResponse(service, request);
    const items = await service.inputItems(record.id);
    if (order === 'desc') items.reverse();
    const first = firstAfter(items, query.after);
    const data = items.slice(first, first + limit);
    return {
      object: 'list',
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: first + limit < items.length,
    };
  });
}

function firstAfter(items: readonly { id: string }[], after: unknown): number {
  if (after === undefined) return 0;
  const index = items.findIndex(({ id }) => id === after);
  if (index < 0)
    throw new ServiceError('invalid_value', "'after' names no item of this response.", { param: 'after' });
  return index + 1;
}
