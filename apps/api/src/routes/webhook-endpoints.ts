import {
  createWebhookEndpointSchema,
  deletedWebhookEndpointSchema,
  type ErrorCode,
  listWebhookEndpointsQuerySchema,
  presentPage,
  responseParamsSchema,
  rotateWebhookSecretSchema,
  ServiceError,
  testWebhookEndpointSchema,
  updateWebhookEndpointSchema,
  webhookEndpointListSchema,
  webhookEndpointSchema,
  webhookEndpointWithSecretSchema,
  webhookEventTypeListSchema,
  webhookEventTypes,
  webhookTestResultSchema,
} from '@sluice/contract';
import type { WebhookEndpoints } from '@sluice/webhooks';
import { smallBody } from '../bodies/small-body.ts';
import { anyErrors, bodyErrors, defineRoute, json, pageErrors } from '../route.ts';

export interface WebhooksContext {
  /** Undefined where webhooks are switched off. */
  webhooks: WebhookEndpoints | undefined;
}

/** A body here has a few names and an address. */
const short = { mostBytes: 16 * 1024 };

const fieldErrors = [
  'missing_required_parameter',
  'invalid_type',
  'invalid_value',
  'unsupported_parameter',
  'string_above_max_length',
  'array_above_max_length',
  'empty_array',
] as const satisfies ErrorCode[];

const writeErrors = [
  ...anyErrors,
  ...bodyErrors,
  ...fieldErrors,
  'webhooks_off',
] as const satisfies ErrorCode[];
const readErrors = [...anyErrors, 'webhooks_off'] as const satisfies ErrorCode[];

const params = responseParamsSchema;
const example = {
  name: 'Jobs',
  url: 'https://hooks.example.com/sluice',
  event_types: ['response.completed' as const, 'response.failed' as const],
};

function endpointsOf({ webhooks }: WebhooksContext): WebhookEndpoints {
  if (!webhooks) throw new ServiceError('webhooks_off');
  return webhooks;
}

export const createWebhookEndpoint = defineRoute({
  name: 'createWebhookEndpoint',
  method: 'POST',
  path: '/webhook_endpoints',
  summary:
    'Makes an endpoint that is told of the ends of responses in the background. Its secret is shown this once.',
  body: smallBody(createWebhookEndpointSchema, example, short),
  isRead: true,
  answers: [json(webhookEndpointWithSecretSchema)],
  errors: writeErrors,
  handle: ({ body, request }, context: WebhooksContext) =>
    endpointsOf(context).create(request.key.name, body),
});

export const listWebhookEndpoints = defineRoute({
  name: 'listWebhookEndpoints',
  method: 'GET',
  path: '/webhook_endpoints',
  summary: "The tenant's endpoints, the newest first.",
  query: listWebhookEndpointsQuerySchema,
  answers: [json(webhookEndpointListSchema)],
  errors: [...readErrors, ...pageErrors],
  async handle({ query, request }, context: WebhooksContext) {
    return presentPage(await endpointsOf(context).list(request.key.name, query));
  },
});

export const getWebhookEndpoint = defineRoute({
  name: 'getWebhookEndpoint',
  method: 'GET',
  path: '/webhook_endpoints/:id',
  summary: 'An endpoint, without its secret.',
  params,
  answers: [json(webhookEndpointSchema)],
  errors: [...readErrors, 'not_found'],
  handle: ({ params: { id }, request }, context: WebhooksContext) =>
    endpointsOf(context).get(request.key.name, id),
});

export const updateWebhookEndpoint = defineRoute({
  name: 'updateWebhookEndpoint',
  method: 'POST',
  path: '/webhook_endpoints/:id',
  summary: 'Changes what is given. A new URL switches an endpoint on again that has answered 410.',
  params,
  body: smallBody(updateWebhookEndpointSchema, { name: 'Night jobs' }, short),
  isRead: true,
  answers: [json(webhookEndpointSchema)],
  errors: [...writeErrors, 'not_found'],
  handle: ({ params: { id }, body, request }, context: WebhooksContext) =>
    endpointsOf(context).update(request.key.name, id, body),
});

export const deleteWebhookEndpoint = defineRoute({
  name: 'deleteWebhookEndpoint',
  method: 'DELETE',
  path: '/webhook_endpoints/:id',
  summary: 'Deletes an endpoint. What is still on its way to it is not sent.',
  params,
  answers: [json(deletedWebhookEndpointSchema)],
  errors: [...readErrors, ...bodyErrors, 'not_found'],
  async handle({ params: { id }, request }, context: WebhooksContext) {
    await endpointsOf(context).remove(request.key.name, id);
    return { id, object: 'webhook_endpoint.deleted', deleted: true };
  },
});

export const rotateWebhookSecret = defineRoute({
  name: 'rotateWebhookSecret',
  method: 'POST',
  path: '/webhook_endpoints/:id/rotate_secret',
  summary: 'Makes another secret, which is shown this once. The old one can sign as well for a day.',
  params,
  body: smallBody(rotateWebhookSecretSchema, { keep_old_secret_active_for_24_hours: true }, short),
  isRead: true,
  answers: [json(webhookEndpointWithSecretSchema)],
  errors: [...writeErrors, 'not_found'],
  handle: ({ params: { id }, body, request }, context: WebhooksContext) =>
    endpointsOf(context).rotateSecret(request.key.name, id, body.keep_old_secret_active_for_24_hours),
});

export const testWebhookEndpoint = defineRoute({
  name: 'testWebhookEndpoint',
  method: 'POST',
  path: '/webhook_endpoints/:id/test',
  summary: 'Sends a sample event once, and says how it was answered.',
  params,
  body: smallBody(testWebhookEndpointSchema, { event_type: 'response.completed' as const }, short),
  isRead: true,
  answers: [json(webhookTestResultSchema)],
  errors: [...writeErrors, 'not_found', 'webhook_endpoint_failed'],
  async handle({ params: { id }, body: { event_type }, request }, context: WebhooksContext) {
    const status = await endpointsOf(context).test(request.key.name, id, event_type);
    return {
      object: 'webhook_endpoint.test',
      webhook_endpoint_id: id,
      event_type,
      status_code: status,
      success: true,
    };
  },
});

export const listWebhookEventTypes = defineRoute({
  name: 'listWebhookEventTypes',
  method: 'GET',
  path: '/webhook_event_types',
  summary: 'The events that an endpoint can ask for.',
  answers: [json(webhookEventTypeListSchema)],
  errors: readErrors,
  handle(_input, context: WebhooksContext) {
    endpointsOf(context);
    return { object: 'list', data: [...webhookEventTypes] };
  },
});

export const webhookRoutes = [
  createWebhookEndpoint,
  listWebhookEndpoints,
  getWebhookEndpoint,
  updateWebhookEndpoint,
  deleteWebhookEndpoint,
  rotateWebhookSecret,
  testWebhookEndpoint,
  listWebhookEventTypes,
];
