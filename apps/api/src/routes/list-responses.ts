import { responseIdSchema, ServiceError } from '@sluice/contract';
import { responseOf } from '@sluice/event-log';
import type { FastifyInstance } from 'fastify';
import { type Dialect, presentResponse } from '../dialect.ts';
import { type Query, readChoice, readInteger } from '../query.ts';
import type { ResponseService } from '../response-service.ts';
import { pageBounds } from './list-input-items.ts';

export interface ListResponsesOptions {
  dialect: Dialect;
  service: ResponseService;
}

/** `GET /responses`: the tenant's stored responses, newest first. */
export function registerListResponses(
  app: FastifyInstance,
  { dialect, service }: ListResponsesOptions,
): void {
  app.get<{ Querystring: Query }>('/responses', async (request) => {
    const { query, caller } = request;
    refuseUpgrade(request.headers.upgrade);
    const limit = readInteger(query, 'limit', pageBounds);
    readChoice(query, 'order', ['desc']);
    const { records, hasMore } = await service.list(caller.name, { after: readAfter(query.after), limit });
    const data = records.map((record) => presentResponse(dialect, responseOf(record)));
    return {
      object: 'list',
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: hasMore,
    };
  });
}

/** This path is also where clients open a WebSocket. They fall back to requests when they are told so. */
function refuseUpgrade(upgrade: string | undefined): void {
  if (upgrade === undefined) return;
  throw new ServiceError('upgrade_required', 'WebSockets are not available here; send requests over HTTP.');
}

function readAfter(after: unknown): string | undefined {
  if (after === undefined) return undefined;
  const id = responseIdSchema.safeParse(after);
  if (id.success) return id.data;
  throw new ServiceError('invalid_value', "'after' must be the id of a response.", { param: 'after' });
}
