import {
  eventSchema,
  responseBodySchema,
  responseParamsSchema,
  retrieveResponseQuerySchema,
} from '@sluice/contract';
import { openEventStream } from '../sse.ts';
import type { BodyBudget } from '../bodies/body-budget.ts';
import type { OpenRequests } from '../open-requests.ts';
import { serveCaller } from '../plugins/caller.ts';
import { sendAnswer } from '../send-answer.ts';
import { type Dialect, responseBody } from '../responses/dialect.ts';
import { positionHeaders } from '../responses/present-position.ts';
import type { Responses } from '../responses/responses.ts';
import { anyErrors, defineRoute, eventStream, json } from '../route.ts';
import { presentationOf, responseIdHeader } from './create-response.ts';

export interface GetResponseContext {
  dialect: Dialect;
  responses: Responses;
  open: OpenRequests;
  bodyBudget: BodyBudget;
}

export const getResponse = defineRoute({
  name: 'getResponse',
  method: 'GET',
  path: '/responses/:id',
  summary: 'A response as it stands now or, with `stream=true`, its events after a cursor.',
  params: responseParamsSchema,
  query: retrieveResponseQuerySchema,
  answers: [json(responseBodySchema), eventStream(eventSchema)],
  errors: [...anyErrors, 'invalid_value', 'not_found', 'stream_expired'],
  async handle(
    { params, query, request, reply },
    { dialect, responses, open, bodyBudget }: GetResponseContext,
  ) {
    if (!query.stream) {
      return serveCaller({ request, reply, open, bodyBudget }, async (caller) => {
        const answer = await responses.retrieve(caller, params.id);
        try {
          const now = responses.now(params.id);
          reply.headers({ ...responseIdHeader(params.id), ...positionHeaders(answer.response, now) });
        } catch (error) {
          answer.free();
          throw error;
        }
        return sendAnswer(reply, (response) => responseBody(dialect, response), answer);
      });
    }
    const { starting_after: cursor = -1, include_obfuscation: obfuscate } = query;
    return serveCaller({ request, reply, open, bodyBudget }, async (caller) => {
      const presentation = presentationOf(request, dialect, obfuscate);
      const openSink = () => openEventStream(reply.headers(responseIdHeader(params.id)));
      await responses.follow(caller, params.id, { cursor, presentation, openSink });
      return reply;
    });
  },
});
