import { deletedResponseSchema, responseParamsSchema } from '@sluice/contract';
import type { Responses } from '../responses/responses.ts';
import { anyErrors, bodyErrors, defineRoute, json } from '../route.ts';
import { responseIdHeader } from './create-response.ts';

export const deleteResponse = defineRoute({
  name: 'deleteResponse',
  method: 'DELETE',
  path: '/responses/:id',
  summary: 'Deletes a response for good. A running response is cancelled first.',
  params: responseParamsSchema,
  answers: [json(deletedResponseSchema)],
  errors: [...anyErrors, ...bodyErrors, 'not_found'],
  async handle({ params, request, reply }, { responses }: { responses: Responses }) {
    await responses.remove(request.key.name, params.id);
    reply.headers(responseIdHeader(params.id));
    return { id: params.id, object: 'response.deleted', deleted: true };
  },
});
