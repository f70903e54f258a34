import { z } from 'zod';
import { eventSchema } from './events.ts';
import { responseIdSchema } from './ids.ts';
import { responseBodySchema } from './response.ts';
import { listedItemSchema } from './stored-items.ts';

/** The bodies of all answers that are neither a response nor an error. */

export const responseListSchema = pageOf(responseBodySchema);
export const inputItemListSchema = pageOf(listedItemSchema);

export const deletedResponseSchema = z.object({
  id: responseIdSchema,
  object: z.literal('response.deleted'),
  deleted: z.literal(true),
});

export const modelSchema = z.object({
  id: z.string(),
  object: z.literal('model'),
  /** Unix seconds. */
  created: z.int(),
  owned_by: z.string(),
});
export const modelListSchema = z.object({ object: z.literal('list'), data: z.array(modelSchema) });

/** A page of the events of a response, as the Durable Streams protocol reads a stream of JSON. */
export const eventPageSchema = z.array(eventSchema);

/** One message of a stream of the Durable Streams protocol: a batch of events, or where the stream is behind it. */
export const eventBatchSchema = z.union([
  eventPageSchema,
  z.object({
    streamNextOffset: z.string(),
    streamCursor: z.string().optional(),
    upToDate: z.literal(true).optional(),
    streamClosed: z.literal(true).optional(),
  }),
]);

/** The process lives. */
export const livenessSchema = z.object({ status: z.literal('ok') });
/** The process can or cannot take requests; `checks` names each thing it needs. */
export const readinessSchema = z.object({
  status: z.enum(['ready', 'not_ready']),
  checks: z.record(z.string(), z.boolean()),
});

/** One page of a list; the ids are null when it is empty. */
function pageOf<Element extends z.ZodType>(element: Element) {
  return z.object({
    object: z.literal('list'),
    data: z.array(element),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  });
}
