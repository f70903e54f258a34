import type { KeySettings, ModelSettings } from '@sluice/config';
import { modelListSchema } from '@sluice/contract';
import type { Responses } from '../responses/responses.ts';
import { anyErrors, defineRoute, json } from '../route.ts';

export interface ListModelsContext {
  responses: Responses;
  /** When this process started, in Unix seconds: models have no age of their own. */
  startedAt: number;
}

export const listModels = defineRoute({
  name: 'listModels',
  method: 'GET',
  path: '/models',
  summary: "The models the caller's key may use.",
  answers: [json(modelListSchema)],
  errors: anyErrors,
  handle: ({ request }, context: ListModelsContext) => ({
    object: 'list',
    data: visibleModels(context, request.key),
  }),
});

/** The models of a key, as clients see them. */
export function visibleModels({ responses, startedAt }: ListModelsContext, caller: KeySettings) {
  return responses
    .models()
    .filter(({ id }) => caller.models.includes('*') || caller.models.includes(id))
    .map(({ id }: ModelSettings) => ({ id, object: 'model', created: startedAt, owned_by: 'sluice' }));
}
