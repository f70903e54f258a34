import { facetsSchema } from '@sluice/contract/admin';
import { json } from '../../../route.ts';
import { readingRoute } from '../admin-route.ts';
import { facetsQuerySchema, filterErrors, filterOf } from '../response-query.ts';
import { indexOff } from './list-responses.ts';

export const readResponseFacets = readingRoute({
  name: 'readResponseFacets',
  method: 'GET',
  path: '/responses/facets',
  summary:
    'The values that each field of the filter has, with how often, among the responses that match the other fields.',
  query: facetsQuerySchema,
  answers: [json(facetsSchema)],
  errors: filterErrors,
  async handle({ query }, { operator: { index } }) {
    if (!index.isKept) return { object: 'facets', fields: {}, index: indexOff };
    const { answer: fields, index: state } = await index.facets(filterOf(query), query);
    return { object: 'facets', fields, index: state };
  },
});
