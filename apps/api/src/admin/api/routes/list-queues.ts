import { queueListSchema } from '@sluice/contract/admin';
import { json } from '../../../route.ts';
import { readingRoute } from '../admin-route.ts';

export const listQueues = readingRoute({
  name: 'listQueues',
  method: 'GET',
  path: '/queues',
  summary: 'Every queue: what waits, since when, what runs, and how much may.',
  answers: [json(queueListSchema)],
  errors: ['server_is_overloaded'],
  handle: (_input, { operator }) => operator.reports.queues(),
});
