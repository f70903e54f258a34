import { responseOf } from '@sluice/event-log';
import type { FastifyInstance } from 'fastify';
import { type Dialect, responseBody } from '../dialect.ts';
import { findResponse, type ResponseParams } from '../response-params.ts';
import type { ResponseService } from '../response-service.ts';

export interface CancelResponseOptions {
  dialect: Dialect;
  service: ResponseService;
}

/**
 * `POST /responses/{id}/cancel`: ends a response, in whichever mode it was created. One that has ended already is
 * returned unchanged.
 */
export function registerCancelResponse(
  app: FastifyInstance,
  { dialect, service }: CancelResponseOptions,
): void {
  app.post<{ Params: ResponseParams }>('/responses/:id/cancel', async (request, reply) => {
    const found = await findResponse(service, request);
    // Deleted meanwhile, or not to be stored: what is known of it is still the answer.
    const record = (await service.ending.cancel(found, 'requested')) ?? found;
    return reply
      .header('content-type', 'application/json; charset=utf-8')
      .send(responseBody(dialect, responseOf(record)));
  });
}
