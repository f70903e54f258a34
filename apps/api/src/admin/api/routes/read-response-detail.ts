import { responseParamsSchema } from '@sluice/contract';
import { responseDetailSchema } from '@sluice/contract/admin';
import { json } from '../../../route.ts';
import { readingRoute } from '../admin-route.ts';

export const readResponseDetail = readingRoute({
  name: 'readResponseDetail',
  method: 'GET',
  path: '/responses/:id',
  summary:
    'One response without its content: how far it is, why it waited, its attempts, and what happened to it.',
  params: responseParamsSchema,
  answers: [json(responseDetailSchema)],
  errors: ['not_found', 'server_is_overloaded'],
  handle: ({ params }, { operator }) => operator.responses.detail(params.id),
});
