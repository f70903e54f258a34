import { keyListSchema, keyPageQuerySchema } from '@sluice/contract/admin';
import { json } from '../../../route.ts';
import { readingRoute } from '../admin-route.ts';

export const listKeys = readingRoute({
  name: 'listKeys',
  method: 'GET',
  path: '/keys',
  summary:
    'A page of the API keys of the settings file and of those that were made here, without the keys themselves.',
  query: keyPageQuerySchema,
  answers: [json(keyListSchema)],
  errors: ['invalid_value', 'server_is_overloaded'],
  handle: ({ query }, { operator }) => operator.reports.keys(query),
});
