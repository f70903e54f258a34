import { overviewSchema } from '@sluice/contract/admin';
import { json } from '../../../route.ts';
import { readingRoute } from '../admin-route.ts';

export const readOverview = readingRoute({
  name: 'readOverview',
  method: 'GET',
  path: '/overview',
  summary: 'The last hour of the service, its queues, processes and upstreams, and its Redis.',
  answers: [json(overviewSchema)],
  errors: ['server_is_overloaded'],
  handle: (_input, { operator }) => operator.reports.overview.latest(),
});
