import { tenantListSchema, tenantPageQuerySchema } from '@sluice/contract/admin';
import { json } from '../../../route.ts';
import { readingRoute } from '../admin-route.ts';

export const listTenants = readingRoute({
  name: 'listTenants',
  method: 'GET',
  path: '/tenants',
  summary: 'A page of tenants: what each may do, what it uses, and its share against the fair one.',
  query: tenantPageQuerySchema,
  answers: [json(tenantListSchema)],
  errors: ['invalid_value', 'server_is_overloaded'],
  handle: ({ query }, { operator }) => operator.reports.tenants(query),
});
