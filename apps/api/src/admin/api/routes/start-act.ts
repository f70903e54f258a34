import { ServiceError } from '@sluice/contract';
import { actSchema, type StartAct, startActSchema } from '@sluice/contract/admin';
import { json } from '../../../route.ts';
import { failureOf } from '../../acting/audit.ts';
import type { BulkWork } from '../../acting/bulk-work.ts';
import type { MatchingResponses } from '../../acting/matching-responses.ts';
import type { OperatorResponses } from '../../acting/operator-responses.ts';
import { actingRoute, jsonBody } from '../admin-route.ts';
import { actingErrors, schemaErrors } from './acting-errors.ts';
import { askedAct } from './asked-act.ts';

/** Retries are begun at this rate, so that they do not push aside what clients ask for. */
const retriesPerSecond = 20;

export const startAct = actingRoute({
  name: 'startAct',
  method: 'POST',
  path: '/acts',
  summary:
    'Cancels or retries every response that matches a filter, and answers at once; `GET /acts/{id}` says how far it is.',
  body: jsonBody(startActSchema, {
    action: 'cancel',
    filter: { status: ['queued'], tenant: ['team'] },
    expected: 12,
  }),
  answers: [json(actSchema)],
  errors: [...actingErrors, ...schemaErrors, 'more_than_expected', 'act_under_way'],
  async handle({ body, request }, { acting, matching }) {
    if (!matching.isKept) {
      const message = 'Acting on many responses needs the journal, which this service does not keep.';
      throw new ServiceError('actions_off', message);
    }
    const target = JSON.stringify(body.filter);
    const conclude = await acting.audit.ask(askedAct(request, `responses.${body.action}`, target));
    try {
      const work = await workOf(body, { matching, responses: acting.responses, now: acting.now() });
      return await acting.acts.start(work, conclude);
    } catch (error) {
      await conclude(...failureOf(error));
      throw error;
    }
  },
});

/** @throws {ServiceError} `more_than_expected` when more match than whoever asks has confirmed. */
async function workOf(
  { action, filter, expected }: StartAct,
  { matching, responses, now }: { matching: MatchingResponses; responses: OperatorResponses; now: number },
): Promise<BulkWork> {
  // What is accepted from now on was not confirmed; and a retry may match the filter of what it is made from.
  const bounded = { ...filter, to: Math.min(filter.to ?? now, now) };
  const total = await matching.count(bounded);
  if (total > expected) {
    throw new ServiceError(
      'more_than_expected',
      `${total} responses match, and ${expected} were expected. Look again, and confirm how many there are.`,
    );
  }
  return {
    action,
    target: JSON.stringify(filter),
    total,
    most: expected,
    ...(action === 'retry' && { perSecond: retriesPerSecond }),
    ids: () => matching.ids(bounded),
    each: (id) => (action === 'cancel' ? responses.askToCancel(id) : retried(responses, id)),
  };
}

/** Nothing is to do for one that has not ended, or is gone. */
async function retried(responses: OperatorResponses, id: string): Promise<boolean> {
  try {
    await responses.retry(id);
    return true;
  } catch (error) {
    const isNothingToDo =
      error instanceof ServiceError && (error.code === 'not_retryable' || error.code === 'not_found');
    if (isNothingToDo) return false;
    throw error;
  }
}
