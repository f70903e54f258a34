import { responseParamsSchema } from '@sluice/contract';
import { retriedSchema } from '@sluice/contract/admin';
import { json } from '../../../route.ts';
import { contextErrors } from '../../../routes/request-body.ts';
import { actingErrors, actingRoute, askerOf } from '../admin-route.ts';

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
