import { responseRowsSchema } from '@sluice/contract/admin';
import { json } from '../../../route.ts';
import { readingRoute } from '../admin-route.ts';
import { filterErrors, filterOf, listQuerySchema } from '../response-query.ts';

export const listAllResponses = readingRoute({
  name: 'listAllResponses',
  method: 'GET',
  path: '/responses',
  summary: 'Responses of all tenants, newest first, narrowed by filters.',
  query: listQuerySchema,
  answers: [json(responseRowsSchema)],
  errors: filterErrors,
  async handle({ query }, { operator: { index } }) {
    const none = { rows: [], hasMore: false, next: null, total: 0 };
    const { answer, index: state } = index.isKept
      ? await index.query(filterOf(query), query)
      : { answer: none, index: indexOff };
    const { rows, hasMore, next, total } = answer;
    return { object: 'list', data: rows, has_more: hasMore, next, total, index: state };
  },
});

/** Where no journal is kept. */
export const indexOff = { state: 'off', loaded_percent: 0, size: 0 } as const;
