import { actListSchema, actSchema } from '@sluice/contract/admin';
import { z } from 'zod';
import { json } from '../../../route.ts';
import { actingRoute, readingRoute } from '../admin-route.ts';
import { actingErrors, readingErrors } from './acting-errors.ts';
import { askerOf } from './asker-of.ts';

const actParamsSchema = z.object({ id: z.string() });

export const listActs = readingRoute({
  name: 'listActs',
  method: 'GET',
  path: '/acts',
  summary: 'What was done with many responses in the last days, newest first, and how far it is.',
  answers: [json(actListSchema)],
  errors: readingErrors,
  async handle(_input, { operator }) {
    return { object: 'list', data: await operator.acts.list() };
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
  handle: ({ params: { id } }, { operator }) => operator.acts.read(id),
});

export const stopAct = actingRoute({
  name: 'stopAct',
  method: 'POST',
  path: '/acts/:id/stop',
  summary: 'Stops something that is done with many responses, within a second. What was done stays done.',
  params: actParamsSchema,
  answers: [json(actSchema)],
  errors: [...actingErrors, 'not_found'],
  handle: ({ params: { id }, request }, { operator }) => operator.acts.askToStop(id, askerOf(request)),
});
