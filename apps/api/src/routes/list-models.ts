import type { KeySettings, ModelSettings } from '@sluice/config';
import { modelListSchema, parsePart } from '@sluice/contract';
import { messageModelOf, messagePageOf, messagePageSchema } from '@sluice/protocols';
import { isOfAnthropic } from '../plugins/request-protocol.ts';
import type { Responses } from '../responses/responses.ts';
import { anyErrors, defineRoute, json, pageErrors } from '../route.ts';

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
      description:
        'Done. A client that sends `anthropic-version` gets a `MessageModelList`, by pages with `limit`, `after_id` and `before_id`, and a `MessageError` in place of an `Error`.',
    }),
  ],
  errors: [...anyErrors, ...pageErrors, 'mutually_exclusive_parameters'],
  handle({ request }, context: ListModelsContext) {
    const data = visibleModels(context, request.key);
    if (!isOfAnthropic(request)) return { object: 'list', data };
    return messagePageOf(data.map(messageModelOf), parsePart(messagePageSchema, request.query));
  },
});

/** The models of a key, as clients see them. */
export function visibleModels({ responses, startedAt }: ListModelsContext, caller: KeySettings) {
  return responses
    .models()
    .filter(({ id }) => caller.models.includes('*') || caller.models.includes(id))
    .map(({ id }: ModelSettings) => ({ id, object: 'model', created: startedAt, owned_by: 'sluice' }));
}
