import { actListSchema, actSchema } from '@sluice/contract/admin';
import { z } from 'zod';
import { json } from '../../../route.ts';
import { actingRoute, readingRoute } from '../admin-route.ts';
import { actingErrors, readingErrors } from './acting-errors.ts';
import { askedAct } from './asked-act.ts';

const actParamsSchema = z.object({ id: z.string() });

export const listActs = readingRoute({
  name: 'listActs',
  method: 'GET',
  path: '/acts',
  summary: 'What was done with many responses in the last days, newest first, and how far it is.',
  answers: [json(actListSchema)],
  errors: readingErrors,
  async handle(_input, { acting }) {
    return { object: 'list', data: await acting.acts.list() };
  },
});

export const readAct = readingRoute({
  name: 'readAct',
  method: 'GET',
  path: '/acts/:id',
  summary: 'How far something is that is done with many responses, whichever process does it.',
  params: actParamsSchema,
  answers: [json(actSchema)],
  errors: [...readingErrors, 'not_found'],
  handle({ params: { id } }, { acting }) {
    return acting.acts.read(id);
  },
});

export const stopAct = actingRoute({
  name: 'stopAct',
  method: 'POST',
  path: '/acts/:id/stop',
  summary: 'Stops something that is done with many responses, within a second. What was done stays done.',
  params: actParamsSchema,
  answers: [json(actSchema)],
  errors: [...actingErrors, 'not_found'],
  handle({ params: { id }, request }, { acting }) {
    return acting.audit.perform(askedAct(request, 'act.stop', id), () => acting.acts.askToStop(id));
  },
});
