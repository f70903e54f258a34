import { actListSchema, actSchema } from '@sluice/contract/admin';
import { z } from 'zod';
import { json } from '../../../route.ts';
import { actingErrors, actingRoute, askerOf, readingErrors, readingRoute } from '../admin-route.ts';

const actParamsSchema = z.object({ id: z.string() });

export const listActs = readingRoute({
  name: 'listActs',
  method: 'GET',
  path: '/acts',
  summary: 'Bulk acts of the last days, newest first, with their progress.',
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
  summary: 'The progress of a bulk act, whichever process carries it out.',
  params: actParamsSchema,
  answers: [json(actSchema)],
  errors: [...readingErrors, 'not_found'],
  handle: ({ params: { id } }, { operator }) => operator.acts.read(id),
});

export const stopAct = actingRoute({
  name: 'stopAct',
  method: 'POST',
  path: '/acts/:id/stop',
  summary: 'Stops a bulk act within a second. Responses that it has changed stay changed.',
  params: actParamsSchema,
  answers: [json(actSchema)],
  errors: [...actingErrors, 'not_found'],
  handle: ({ params: { id }, request }, { operator }) => operator.acts.askToStop(id, askerOf(request)),
});
