import type { KeySettings, ModelSettings } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import type { FastifyInstance } from 'fastify';
import type { ResponseService } from '../response-service.ts';

export interface ListModelsOptions {
  service: ResponseService;
  /** When this process started, in Unix seconds: models have no age of their own. */
  createdAt: number;
}

/** `GET /models` and `GET /models/{id}`: the models the caller's key may use. */
export function registerListModels(app: FastifyInstance, { service, createdAt }: ListModelsOptions): void {
  const present = ({ id }: ModelSettings) => ({
    id,
    object: 'model',
    created: createdAt,
    owned_by: 'sluice',
  });
  const visible = (caller: KeySettings) =>
    service.models().filter(({ id }) => caller.models.includes('*') || caller.models.includes(id));

  app.get('/models', (request) => ({ object: 'list', data: visible(request.caller).map(present) }));
  // Ids of models may hold slashes.
  app.get<{ Params: { '*': string } }>('/models/*', (request) => {
    const id = request.params['*'];
    const model = visible(request.caller).find((each) => each.id === id);
    if (!model) throw new ServiceError('not_found', 'There is no model with this id.', { param: 'id' });
    return present(model);
  });
}
