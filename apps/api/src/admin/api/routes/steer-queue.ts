import { actSchema, queueSwitchSchema } from '@sluice/contract/admin';
import { z } from 'zod';
import { json } from '../../../route.ts';
import { failureOf } from '../../acting/audit.ts';
import { actingRoute } from '../admin-route.ts';
import { actingErrors } from './acting-errors.ts';
import { askedAct } from './asked-act.ts';

/** Queues have the names of the settings. */
const queueParamsSchema = z.object({ queue: z.string() });

export const pauseQueue = actingRoute({
  name: 'pauseQueue',
  method: 'POST',
  path: '/queues/:queue/pause',
  summary: 'Lets no worker take from a queue any more. What runs goes on, and what comes waits.',
  params: queueParamsSchema,
  answers: [json(queueSwitchSchema)],
  errors: [...actingErrors, 'not_found'],
  handle({ params: { queue }, request }, { acting }) {
    return acting.audit.perform(askedAct(request, 'queue.pause', queue), () => acting.queues.pause(queue));
  },
});

export const resumeQueue = actingRoute({
  name: 'resumeQueue',
  method: 'POST',
  path: '/queues/:queue/resume',
  summary: 'Lets workers take from a queue again.',
  params: queueParamsSchema,
  answers: [json(queueSwitchSchema)],
  errors: [...actingErrors, 'not_found'],
  handle({ params: { queue }, request }, { acting }) {
    return acting.audit.perform(askedAct(request, 'queue.resume', queue), () => acting.queues.resume(queue));
  },
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
  async handle({ params: { queue }, request }, { acting }) {
    const conclude = await acting.audit.ask(askedAct(request, 'queue.drain', queue));
    try {
      return await acting.acts.start(await acting.queues.draining(queue), conclude);
    } catch (error) {
      await conclude(...failureOf(error));
      throw error;
    }
  },
});
