import { responseBodySchema, responseParamsSchema } from '@sluice/contract';
import type { BodyBudget } from '../bodies/body-budget.ts';
import type { OpenRequests } from '../open-requests.ts';
import { serveCaller } from '../plugins/caller.ts';
import { type Dialect, responseBody } from '../responses/dialect.ts';
import type { Responses } from '../responses/responses.ts';
import { anyErrors, bodyErrors, defineRoute, json } from '../route.ts';
import { sendAnswer } from '../send-answer.ts';
import { responseIdHeader } from './create-response.ts';

export interface CancelResponseContext {
  dialect: Dialect;
  responses: Responses;
  open: OpenRequests;
  bodyBudget: BodyBudget;
}

export const cancelResponse = defineRoute({
  name: 'cancelResponse',
  method: 'POST',
  path: '/responses/:id/cancel',
  summary:
    'Cancels a response, in whichever mode it was created. A response that has ended is returned unchanged.',
  params: responseParamsSchema,
  answers: [json(responseBodySchema)],
  errors: [...anyErrors, ...bodyErrors, 'not_found'],
  handle({ params, request, reply }, { dialect, responses, open, bodyBudget }: CancelResponseContext) {
    return serveCaller({ request, reply, open, bodyBudget }, async (caller) => {
      const answer = await responses.cancel(caller, params.id);
      reply.headers(responseIdHeader(params.id));
      return sendAnswer(reply, (response) => responseBody(dialect, response), answer);
    });
  },
});
