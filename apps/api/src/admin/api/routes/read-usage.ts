import { costPageSchema, costQuerySchema, usagePageSchema, usageQuerySchema } from '@sluice/contract';
import { json } from '../../../route.ts';
import { usageErrors, usageOf } from '../../../routes/usage.ts';
import { readingRoute } from '../admin-route.ts';

export const readUsage = readingRoute({
  name: 'readUsage',
  method: 'GET',
  path: '/usage/completions',
  summary:
    'What the responses of all tenants took, in buckets of an hour or a day, by the time of their ends.',
  query: usageQuerySchema,
  answers: [json(usagePageSchema)],
  errors: ['server_is_overloaded', ...usageErrors],
  handle: ({ query }, context) => usageOf(context).page(query, {}),
});

export const readCosts = readingRoute({
  name: 'readCosts',
  method: 'GET',
  path: '/usage/costs',
  summary:
    'What the responses of all tenants cost by the prices of their models, in buckets of a day, by the time of their ends.',
  query: costQuerySchema,
  answers: [json(costPageSchema)],
  errors: ['server_is_overloaded', ...usageErrors],
  handle: ({ query }, context) => usageOf(context).costs(query, {}),
});
