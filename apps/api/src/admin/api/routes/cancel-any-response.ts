import { responseParamsSchema } from '@sluice/contract';
import { cancelledSchema } from '@sluice/contract/admin';
import { json } from '../../../route.ts';
import { actingErrors, actingRoute, askerOf } from '../admin-route.ts';

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
