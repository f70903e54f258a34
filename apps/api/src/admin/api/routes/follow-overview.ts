import { ServiceError } from '@sluice/contract';
import { overviewEventSchema } from '@sluice/contract/admin';
import { asServiceError } from '../../../plugins/error-handler.ts';
import { eventStream } from '../../../route.ts';
import { readingRoute } from '../admin-route.ts';
import { answerLive } from '../live-answer.ts';

export const followOverview = readingRoute({
  name: 'followOverview',
  method: 'GET',
  path: '/overview/events',
  summary:
    'The overview as events `overview`, every two seconds; the first has all buckets, and each other one those that have changed. An event `unavailable` says that it cannot be read for now.',
  answers: [eventStream(overviewEventSchema)],
  errors: ['server_is_overloaded'],
  async handle({ reply }, { operator }) {
    const { overview } = operator.reports;
    const first = await overview.latest();
    const answer = answerLive(reply);
    answer.send('overview', first);
    const leave = overview.watch({
      changed: (changed) => answer.send('overview', changed),
      failed: (error) => {
        const told = asServiceError(error) ?? new ServiceError('server_error', 'The server had an error.');
        answer.send('unavailable', { error: told.toBody() });
      },
    });
    answer.signal.addEventListener('abort', leave, { once: true });
    if (answer.signal.aborted) leave();
    return reply;
  },
});
