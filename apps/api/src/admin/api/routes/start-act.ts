import { actSchema, startActSchema } from '@sluice/contract/admin';
import { json, schemaErrors } from '../../../route.ts';
import { actingErrors, actingRoute, askerOf, jsonBody } from '../admin-route.ts';

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
