import { z } from 'zod';
import { pageOf } from './pages.ts';
import { anyId, choice, pageLimit } from './request-parts.ts';

/**
 * Webhooks, in the form of OpenAI's API: endpoints of a tenant, and the events that they are sent, by the rules of Standard Webhooks
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
 */

/** The events that an endpoint can ask for. Those of a response are of responses in the background alone. */
export const webhookEventTypes = [
  'response.completed',
  'response.failed',
  'response.incomplete',
  'response.cancelled',
  'batch.completed',
  'batch.failed',
  'batch.expired',
  'batch.cancelled',
  'budget.warning',
] as const;

export type WebhookEventType = (typeof webhookEventTypes)[number];

/** What an endpoint is sent: that something has happened to a thing, and nothing of what is in it. */
export interface WebhookEvent {
  id: string;
  object: 'event';
  type: WebhookEventType;
  /** When it happened, in seconds since 1970. */
  created_at: number;
  /** The thing, by its id; a warning of a budget says more. */
  data: { id: string } | BudgetWarning;
}

/** Four fifths of a budget are reserved or used: told once in its day or month. An addition of this service. */
export interface BudgetWarning {
  /** The limit, by its name on the wire, such as `tokens_per_day`. */
  id: string;
  /** The beginning of the SHA-256 of the key; null for a budget of the whole tenant. Usage takes it beside the id of a stored key. */
  api_key_id: string | null;
  limit: number;
  used: number;
}

export const webhookEndpointSchema = z.object({
  id: z.string(),
  object: z.literal('webhook_endpoint'),
  name: z.string(),
  url: z.string(),
  event_types: z.array(z.enum(webhookEventTypes)),
  created_at: z.int(),
  updated_at: z.int(),
  signing_secret_hint: z.string().nullable(),
  /** An addition of this service: `disabled` after the endpoint has answered 410. */
  status: z.enum(['enabled', 'disabled']),
});

export type WebhookEndpoint = z.infer<typeof webhookEndpointSchema>;

/** The only answers that say the secret: those to a create and to a rotation. */
export const webhookEndpointWithSecretSchema = webhookEndpointSchema.extend({ signing_secret: z.string() });

export const webhookEndpointListSchema = pageOf(webhookEndpointSchema);

export const deletedWebhookEndpointSchema = z.object({
  id: z.string(),
  object: z.literal('webhook_endpoint.deleted'),
  deleted: z.literal(true),
});

export const webhookTestResultSchema = z.object({
  object: z.literal('webhook_endpoint.test'),
  webhook_endpoint_id: z.string(),
  event_type: z.enum(webhookEventTypes),
  status_code: z.int(),
  success: z.literal(true),
});

export const webhookEventTypeListSchema = z.object({
  object: z.literal('list'),
  data: z.array(z.enum(webhookEventTypes)),
});

const name = z.string().min(1).max(256);
const url = z.string().min(1).max(2048);
const eventTypes = z
  .array(z.enum(webhookEventTypes))
  .min(1)
  .max(webhookEventTypes.length * 2)
  .transform((types) => [...new Set(types)]);

export const createWebhookEndpointSchema = z.strictObject({ name, url, event_types: eventTypes });
export const updateWebhookEndpointSchema = z.strictObject({
  name: name.optional(),
  url: url.optional(),
  event_types: eventTypes.optional(),
});
export const rotateWebhookSecretSchema = z.strictObject({
  keep_old_secret_active_for_24_hours: z.boolean().default(false),
});
export const testWebhookEndpointSchema = z.strictObject({ event_type: z.enum(webhookEventTypes) });

export const listWebhookEndpointsQuerySchema = z.object({
  limit: pageLimit(),
  order: choice('order', ['desc', 'asc']),
  after: anyId().optional(),
});
