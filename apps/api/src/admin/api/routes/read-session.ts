import { sessionSchema } from '@sluice/contract/admin';
import { serviceVersion } from '@sluice/runtime';
import { json } from '../../../route.ts';
import { actingOf } from '../action-token.ts';
import { readingRoute } from '../admin-route.ts';

export const readSession = readingRoute({
  name: 'readSession',
  method: 'GET',
  path: '/session',
  summary: 'Describes the service, and says whether the request may change anything.',
  answers: [json(sessionSchema)],
  errors: ['rate_limit_exceeded'],
  async handle({ request }, { settings, operator, developmentKey, apiUrl, ...gate }) {
    const acting = actingOf(request.raw, gate);
    const key = await developmentKey();
    return {
      object: 'session',
      version: serviceVersion,
      api_url: apiUrl(),
      acting,
      journal: operator.index.isKept,
      statistics: settings.console.statistics,
      models: settings.models.map(({ id }) => id),
      takes_development_key: key !== undefined,
      development_key: (acting === 'open' ? key : undefined) ?? null,
    };
  },
});
