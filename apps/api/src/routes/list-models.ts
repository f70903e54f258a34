import type { KeySettings, ModelSettings } from '@sluice/config';
import { modelListSchema } from '@sluice/contract';
import { messageModelOf } from '@sluice/protocols';
import type { FastifyRequest } from 'fastify';
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
  answers: [
    json(modelListSchema, {
      description: 'Done. A client that sends `anthropic-version` gets a `MessageModelList`.',
    }),
  ],
  errors: anyErrors,
  handle({ request }, context: ListModelsContext) {
    const data = visibleModels(context, request.key);
    if (!isOfAnthropic(request)) return { object: 'list', data };
    const [first, last] = [data[0]?.id ?? null, data.at(-1)?.id ?? null];
    return { data: data.map(messageModelOf), has_more: false, first_id: first, last_id: last };
  },
});

/** Whether a request comes from a client of Anthropic: each of them says which version of its protocol it speaks. */
export function isOfAnthropic({ headers }: FastifyRequest): boolean {
  return headers['anthropic-version'] !== undefined;
}

/** The models of a key, as clients see them. */
export function visibleModels({ responses, startedAt }: ListModelsContext, caller: KeySettings) {
  return responses
    .models()
    .filter(({ id }) => caller.models.includes('*') || caller.models.includes(id))
    .map(({ id }: ModelSettings) => ({ id, object: 'model', created: startedAt, owned_by: 'sluice' }));
}
