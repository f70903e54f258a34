import { actSchema, queueSwitchSchema } from '@sluice/contract/admin';
import { z } from 'zod';
import { json } from '../../../route.ts';
import { actingErrors, actingRoute, askerOf } from '../admin-route.ts';

/** Queues have the names of the settings. */
const queueParamsSchema = z.object({ queue: z.string() });

export const pauseQueue = actingRoute({
  name: 'pauseQueue',
  method: 'POST',
  path: '/queues/:queue/pause',
  summary: 'Pauses a queue: workers take no more jobs from it. Running responses go on, and new ones wait.',
  params: queueParamsSchema,
  answers: [json(queueSwitchSchema)],
  errors: [...actingErrors, 'not_found'],
  handle: ({ params: { queue }, request }, { operator }) => operator.queues.pause(queue, askerOf(request)),
});

export const resumeQueue = actingRoute({
  name: 'resumeQueue',
  method: 'POST',
  path: '/queues/:queue/resume',
  summary: 'Lets workers take from a queue again.',
  params: queueParamsSchema,
  answers: [json(queueSwitchSchema)],
  errors: [...actingErrors, 'not_found'],
  handle: ({ params: { queue }, request }, { operator }) => operator.queues.resume(queue, askerOf(request)),
});

export const drainQueue = actingRoute({
  name: 'drainQueue',
  method: 'POST',
  path: '/queues/:queue/drain',
  summary:
    'Cancels everything that waits in a queue, and tells the callers; `GET /acts/{id}` says how far it is.',
  params: queueParamsSchema,
  answers: [json(actSchema)],
  errors: [...actingErrors, 'not_found', 'act_under_way'],
  handle: ({ params: { queue }, request }, { operator }) => operator.queues.drain(queue, askerOf(request)),
});
