import { responseParamsSchema } from '@sluice/contract';
import { tailEndSchema, tailEventSchema } from '@sluice/contract/admin';
import { z } from 'zod';
import { eventStream, schemaErrors } from '../../../route.ts';
import { requireActing } from '../action-token.ts';
import { actingErrors, askerOf, readingRoute } from '../admin-route.ts';
import { answerLive } from '../live-answer.ts';
import { eventNumber, isTrue } from './query-values.ts';

const querySchema = z.object({
  /** The last number that the reader has; without it, from the first. A `last-event-id` counts instead. */
  starting_after: eventNumber('starting_after').optional(),
  content: isTrue('content'),
});

export const tailEvents = readingRoute({
  name: 'tailEvents',
  method: 'GET',
  path: '/responses/:id/events',
  summary:
    'The events of a response of any tenant, from any number on and live: their numbers, types and sizes, and with `content=true`, which needs the action token, the events themselves.',
  params: responseParamsSchema,
  query: querySchema,
  answers: [eventStream(z.union([tailEventSchema, tailEndSchema]))],
  errors: [...actingErrors, ...schemaErrors, 'not_found', 'events_gone'],
  async handle({ params: { id }, query, request, reply }, { operator, ...gate }) {
    const { content: withContent, starting_after: startingAfter = -1 } = query;
    if (withContent) requireActing(request.raw, gate);
    const cursor = returningTo(request.headers['last-event-id']) ?? startingAfter;
    const tail = await operator.responses.tail({ responseId: id, cursor, withContent }, askerOf(request));
    await tail(answerLive(reply));
    return reply;
  },
});

/** The number that a browser had last when its connection broke; anything else is none of ours. */
function returningTo(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}
