import { responseParamsSchema } from '@sluice/contract';
import { responseContentSchema } from '@sluice/contract/admin';
import { json } from '../../../route.ts';
import { jsonType } from '../../../routes/create-response.ts';
import { actingErrors, actingRoute, askerOf } from '../admin-route.ts';

/** How long the reader of an answer may take nothing of it, in milliseconds. */
const stalledMs = 30_000;

export const readContent = actingRoute({
  name: 'readContent',
  method: 'GET',
  path: '/responses/:id/content',
  summary: 'The input and the output of a response. The audit log records who asked for them.',
  params: responseParamsSchema,
  answers: [json(responseContentSchema)],
  errors: [...actingErrors, 'not_found'],
  async handle({ params: { id }, request, reply }, { operator }) {
    const { json: body, free } = await operator.responses.content(id, askerOf(request));
    const { raw } = reply;
    raw.once('close', free);
    if (raw.destroyed) free();
    // A reader that takes nothing any more must not hold it for ever.
    raw.setTimeout(stalledMs, () => raw.destroy());
    return reply.type(jsonType).send(body);
  },
});
