import { responseParamsSchema } from '@sluice/contract';
import { responseContentSchema } from '@sluice/contract/admin';
import { json } from '../../../route.ts';
import { jsonType } from '../../../routes/create-response.ts';
import { actingRoute } from '../admin-route.ts';
import { actingErrors } from './acting-errors.ts';
import { askedAct } from './asked-act.ts';

/** How long whoever reads an answer may take nothing of it, in milliseconds. */
const stalledMs = 30_000;

export const readContent = actingRoute({
  name: 'readContent',
  method: 'GET',
  path: '/responses/:id/content',
  summary: 'What a response was asked and what it answered. The audit log keeps that somebody asked for it.',
  params: responseParamsSchema,
  answers: [json(responseContentSchema)],
  errors: [...actingErrors, 'not_found'],
  async handle({ params: { id }, request, reply }, { acting }) {
    const { json: body, free } = await acting.audit.perform(
      askedAct(request, 'response.reveal', id),
      () => acting.responses.content(id),
      () => 'content',
    );
    const { raw } = reply;
    raw.once('close', free);
    if (raw.destroyed) free();
    // Whoever takes nothing any more must not hold it for ever.
    raw.setTimeout(stalledMs, () => raw.destroy());
    return reply.type(jsonType).send(body);
  },
});
