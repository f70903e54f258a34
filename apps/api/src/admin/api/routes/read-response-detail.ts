import { responseIdSchema } from '@sluice/contract';
import { responseDetailSchema } from '@sluice/contract/admin';
import { z } from 'zod';
import { json } from '../../../route.ts';
import { readingRoute } from '../admin-route.ts';

/** A path that names a response. An id of the wrong shape is refused, because it can only be a slip. */
export const responseParams = z.object({ id: responseIdSchema });

export const readResponseDetail = readingRoute({
  name: 'readResponseDetail',
  method: 'GET',
  path: '/responses/:id',
  summary:
    'One response without its content: how far it is, why it waited, its attempts, and what happened to it.',
  params: responseParams,
  answers: [json(responseDetailSchema)],
  errors: ['invalid_value', 'not_found', 'server_is_overloaded'],
  handle: ({ params }, { operator }) => operator.responses.detail(params.id),
});
