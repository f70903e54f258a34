import { responseParamsSchema } from '@sluice/contract';
import { actSchema, cancelledSchema, retriedSchema, startActSchema } from '@sluice/contract/admin';
import { json, schemaErrors } from '../../../route.ts';
import { contextErrors } from '../../../routes/request-body.ts';
import { actingErrors, actingRoute, askerOf, jsonBody } from '../admin-route.ts';

export const cancelAnyResponse = actingRoute({
  name: 'cancelAnyResponse',
  method: 'POST',
  path: '/responses/:id/cancel',
  summary: 'Cancels a response of any tenant, as that tenant could, and waits for its end for some seconds.',
  params: responseParamsSchema,
  answers: [json(cancelledSchema)],
  errors: [...actingErrors, 'not_found'],
  handle: ({ params: { id }, request }, { operator }) => operator.responses.cancel(id, askerOf(request)),
});

export const retryResponse = actingRoute({
  name: 'retryResponse',
  method: 'POST',
  path: '/responses/:id/retry',
  summary:
    'Creates a response with the request of one that has ended: in the background and stored, for the same tenant and by its limits.',
  params: responseParamsSchema,
  answers: [json(retriedSchema)],
  errors: [...actingErrors, ...contextErrors, 'tool_call_not_found', 'not_found', 'not_retryable'],
  handle: ({ params: { id }, request }, { operator }) => operator.responses.retry(id, askerOf(request)),
});

export const startAct = actingRoute({
  name: 'startAct',
  method: 'POST',
  path: '/acts',
  summary:
    'Cancels or retries every response that matches a filter, and answers at once; `GET /acts/{id}` says how far it is.',
  body: jsonBody(startActSchema, {
    action: 'cancel',
    filter: { status: ['queued'], tenant: ['team'] },
    expected: 12,
  }),
  answers: [json(actSchema)],
  errors: [...actingErrors, ...schemaErrors, 'more_than_expected', 'act_under_way'],
  handle: ({ body, request }, { operator }) => operator.responses.actOnMatching(body, askerOf(request)),
});
