import { modelParamsSchema, modelSchema, ServiceError } from '@sluice/contract';
import { messageModelOf } from '@sluice/protocols';
import { isOfAnthropic } from '../plugins/request-protocol.ts';
import { anyErrors, defineRoute, json } from '../route.ts';
import { type ListModelsContext, visibleModels } from './list-models.ts';

export const getModel = defineRoute({
  name: 'getModel',
  method: 'GET',
  path: '/models/*',
  summary: "One of the models the caller's key may use.",
  params: modelParamsSchema,
  answers: [
    json(modelSchema, {
      description:
        'Done. A client that sends `anthropic-version` gets a `MessageModel`, and a `MessageError` in place of an `Error`.',
    }),
  ],
  errors: [...anyErrors, 'not_found'],
  handle({ params, request }, context: ListModelsContext) {
    const model = visibleModels(context, request.key).find(({ id }) => id === params['*']);
    if (!model) throw new ServiceError('not_found', 'There is no model with this id.', { param: 'id' });
    return isOfAnthropic(request) ? messageModelOf(model) : model;
  },
});
