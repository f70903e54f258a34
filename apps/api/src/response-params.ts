import { ServiceError } from '@sluice/contract';
import type { ResponseRecord } from '@sluice/event-log';
import type { FastifyRequest } from 'fastify';
import type { ResponseService } from './response-service.ts';

export interface ResponseParams {
  id: string;
}

/** The caller's response that the path names. One answer for every id that leads to none, whatever the reason. */
export async function findResponse(
  service: ResponseService,
  request: Pick<FastifyRequest, 'caller'> & { params: ResponseParams },
): Promise<ResponseRecord> {
  const record = await service.find(request.params.id, request.caller.name);
  if (!record) throw new ServiceError('not_found', 'There is no response with this id.', { param: 'id' });
  return record;
}
