import { listResponsesQuerySchema, presentPage, responseListSchema } from '@sluice/contract';
import type { BodyBudget } from '../bodies/body-budget.ts';
import type { OpenRequests } from '../open-requests.ts';
import { serveCaller } from '../plugins/caller.ts';
import { whenOver } from '../plugins/unread-answers.ts';
import { type Dialect, presentResponse } from '../responses/dialect.ts';
import type { Responses } from '../responses/responses.ts';
import { anyErrors, defineRoute, json, pageErrors } from '../route.ts';

export interface ListResponsesContext {
  dialect: Dialect;
  responses: Responses;
  open: OpenRequests;
  bodyBudget: BodyBudget;
}

export const listResponses = defineRoute({
  name: 'listResponses',
  method: 'GET',
  path: '/responses',
  summary: "The tenant's stored responses, newest first: an addition of this service.",
  query: listResponsesQuerySchema,
  answers: [json(responseListSchema)],
  errors: [...anyErrors, ...pageErrors],
  handle({ query, request, reply }, { dialect, responses, open, bodyBudget }: ListResponsesContext) {
    const { limit, after } = query;
    return serveCaller({ request, reply, open, bodyBudget }, async (caller) => {
      const { responses: page, hasMore, free } = await responses.list(caller, { after, limit });
      if (free) {
        request.isAnswerHeld = true;
        whenOver(reply.raw, free);
      }
      const data = page.map((response) => presentResponse(dialect, response));
      return presentPage({ data, hasMore });
    });
  },
});
