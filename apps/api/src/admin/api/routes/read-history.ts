import { historyQuerySchema, historySchema } from '@sluice/contract/admin';
import { json } from '../../../route.ts';
import { readingRoute } from '../admin-route.ts';

export const readHistory = readingRoute({
  name: 'readHistory',
  method: 'GET',
  path: '/overview/history',
  summary: 'Statistics of the last day, in spans of five minutes, or of the last week, in hours.',
  query: historyQuerySchema,
  answers: [json(historySchema)],
  errors: ['invalid_value', 'server_is_overloaded'],
  handle: ({ query }, { operator }) => operator.reports.history(query.span),
});
