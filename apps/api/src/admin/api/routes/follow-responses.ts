import { rowsEventSchema } from '@sluice/contract/admin';
import { eventStream } from '../../../route.ts';
import { readingRoute } from '../admin-route.ts';
import { answerLive } from '../live-answer.ts';
import { filterErrors, filterOf, filterQuerySchema } from '../response-query.ts';

export const followAllResponses = readingRoute({
  name: 'followAllResponses',
  method: 'GET',
  path: '/responses/events',
  summary:
    'Rows that match the filters and are new or have changed, as server-sent events `rows`. The first one says how many match.',
  query: filterQuerySchema,
  answers: [eventStream(rowsEventSchema)],
  errors: filterErrors,
  handle({ query, reply }, { operator: { index } }) {
    index.requireRoom();
    const live = answerLive(reply);
    if (!index.isKept) {
      live.send('rows', { rows: [], total: 0 });
      return;
    }
    index.follow(filterOf(query), {
      signal: live.signal,
      onNews: (news) => live.send('rows', news),
      onEnd: () => live.end(),
    });
  },
});
