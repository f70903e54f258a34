import { sessionSchema } from '@sluice/contract/admin';
import { serviceVersion } from '@sluice/runtime';
import { json } from '../../../route.ts';
import { actingOf } from '../action-token.ts';
import { readingRoute } from '../admin-route.ts';

export const readSession = readingRoute({
  name: 'readSession',
  method: 'GET',
  path: '/session',
  summary: 'What the service is, and whether the request may change anything.',
  answers: [json(sessionSchema)],
  errors: ['rate_limit_exceeded'],
  handle({ request }, { settings, operator, apiUrl, ...gate }) {
    return {
      object: 'session',
      version: serviceVersion,
      api_url: apiUrl(),
      acting: actingOf(request.raw, gate),
      journal: operator.index.isKept,
      statistics: settings.console.statistics,
      models: settings.models.map(({ id }) => id),
    };
  },
});
