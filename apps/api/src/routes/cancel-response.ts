import { responseBodySchema, responseParamsSchema } from '@sluice/contract';
import { type Dialect, responseBody } from '../responses/dialect.ts';
import type { Responses } from '../responses/responses.ts';
import { anyErrors, bodyErrors, defineRoute, json } from '../route.ts';
import { jsonType, responseIdHeader } from './create-response.ts';

export interface CancelResponseContext {
  dialect: Dialect;
  responses: Responses;
}

export const cancelResponse = defineRoute({
  name: 'cancelResponse',
  method: 'POST',
  path: '/responses/:id/cancel',
  summary:
    'Ends a response, in whichever mode it was created. One that has ended already is returned unchanged.',
  params: responseParamsSchema,
  answers: [json(responseBodySchema)],
  errors: [...anyErrors, ...bodyErrors, 'not_found'],
  async handle({ params, request, reply }, { dialect, responses }: CancelResponseContext) {
    const response = await responses.cancel(request.key.name, params.id);
    return reply.type(jsonType).headers(responseIdHeader(params.id)).send(responseBody(dialect, response));
  },
});
