import { responseIdSchema, ServiceError } from '@sluice/contract';
import { responseOf } from '@sluice/event-log';
import type { FastifyInstance } from 'fastify';
import { type Dialect, responseBody } from '../dialect.ts';
import type { ResponseService } from '../response-service.ts';

export interface GetResponseOptions {
  dialect: Dialect;
  service: ResponseService;
}

/** `GET /responses/{id}`: a response as it stands now. */
export function registerGetResponse(app: FastifyInstance, { dialect, service }: GetResponseOptions): void {
  app.get<{ Params: { id: string }; Querystring: Record<string, unknown> }>(
    '/responses/:id',
    async (request, reply) => {
      const { id } = request.params;
      const record = responseIdSchema.safeParse(id).success
        ? await service.find(id, request.caller.name)
        : undefined;
      if (!record) throw new ServiceError('not_found', 'There is no response with this id.', { param: 'id' });
      if (request.query.stream === 'true') {
        throw new ServiceError('unsupported_parameter', "'stream' is not supported here by this server.", {
          param: 'stream',
        });
      }
      return reply
        .header('content-type', 'application/json; charset=utf-8')
        .send(responseBody(dialect, responseOf(record)));
    },
  );
}
