import { deliveryListSchema, deliveryStates, sentDeliverySchema } from '@sluice/contract/admin';
import { z } from 'zod';
import { json, schemaErrors } from '../../../route.ts';
import { actingErrors, actingRoute, askerOf, readingErrors, readingRoute } from '../admin-route.ts';
import { pageSize } from './query-values.ts';

/** Values that arrive once or several times. */
function listOf<Value extends z.ZodType>(value: Value, most: number) {
  return z.preprocess(
    (given) => (given === undefined ? undefined : [given].flat()),
    z.array(value).max(most).optional(),
  );
}

export const listDeliveries = readingRoute({
  name: 'listDeliveries',
  method: 'GET',
  path: '/webhooks/deliveries',
  summary: 'What endpoints were told, the newest first, for a week behind the end of each delivery.',
  query: z.object({
    limit: pageSize(1_000, 200),
    tenant: listOf(z.string().max(256), 64),
    state: listOf(z.enum(deliveryStates), deliveryStates.length),
  }),
  answers: [json(deliveryListSchema)],
  errors: [...readingErrors, ...schemaErrors, 'webhooks_off'],
  async handle({ query: { limit, tenant, state } }, { operator }) {
    return { object: 'list', data: await operator.webhooks.list({ limit, tenants: tenant, states: state }) };
  },
});

export const sendDelivery = actingRoute({
  name: 'sendDelivery',
  method: 'POST',
  path: '/webhooks/deliveries/:id/send',
  summary: 'Sends a delivery again that has ended, to its endpoint as it is now.',
  params: z.object({ id: z.string() }),
  answers: [json(sentDeliverySchema)],
  errors: [...actingErrors, 'not_found', 'invalid_value', 'webhooks_off'],
  handle: ({ params: { id }, request }, { operator }) => operator.webhooks.send(id, askerOf(request)),
});
