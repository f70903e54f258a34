import type { FastifyInstance } from 'fastify';
import { findResponse, type ResponseParams } from '../response-params.ts';
import type { ResponseService } from '../response-service.ts';

/** `DELETE /responses/{id}`: takes a response away for good; one that still runs is cancelled first. */
export function registerDeleteResponse(
  app: FastifyInstance,
  { service }: { service: ResponseService },
): void {
  app.delete<{ Params: ResponseParams }>('/responses/:id', async (request) => {
    const record = await findResponse(service, request);
    await service.ending.remove(record);
    return { id: record.id, object: 'response.deleted', deleted: true };
  });
}
