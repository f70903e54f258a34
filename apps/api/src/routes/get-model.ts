import { modelParamsSchema, modelSchema, ServiceError } from '@sluice/contract';
import { messageModelOf, messageModelSchema } from '@sluice/protocols';
import { z } from 'zod';
import { anyErrors, defineRoute, json } from '../route.ts';
import { isOfAnthropic, type ListModelsContext, visibleModels } from './list-models.ts';

/** In the form of the protocol that the client speaks. */
export const anyModelSchema = z.union([modelSchema, messageModelSchema]);

export const getModel = defineRoute({
  name: 'getModel',
  method: 'GET',
  path: '/models/*',
  summary: "One of the models the caller's key may use.",
  params: modelParamsSchema,
  answers: [json(anyModelSchema)],
  errors: [...anyErrors, 'not_found'],
  handle({ params, request }, context: ListModelsContext) {
    const model = visibleModels(context, request.key).find(({ id }) => id === params['*']);
    if (!model) throw new ServiceError('not_found', 'There is no model with this id.', { param: 'id' });
    return isOfAnthropic(request) ? messageModelOf(model) : model;
  },
});
