import { z } from 'zod';
import { eventSchema } from './events.ts';
import { responseIdSchema } from './ids.ts';
import { usageSchema } from './output.ts';
import { pageOf } from './pages.ts';
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

export const inputTokensSchema = z.object({
  object: z.literal('response.input_tokens'),
  input_tokens: z.int().min(0),
  /** `tokenizer` counted every text with the tokenizer of the model. `estimate` did not, or not for all of it. */
  method: z.enum(['tokenizer', 'estimate']),
});

/** A user message of a compacted conversation. */
const keptMessageSchema = z.looseObject({
  type: z.literal('message'),
  id: z.string(),
  status: z.literal('completed'),
  role: z.literal('user'),
  content: z.array(z.looseObject({ type: z.string() })),
});
const compactionItemSchema = z.object({
  type: z.literal('compaction'),
  id: z.string(),
  encrypted_content: z.string(),
});

/** A compacted conversation: the user's messages, then one item for all the rest. It is not a response. */
export const compactionSchema = z.object({
  id: z.string().regex(/^compact-response_[A-Za-z0-9]+$/),
  object: z.literal('response.compaction'),
  /** Unix seconds. */
  created_at: z.int(),
  output: z.array(z.discriminatedUnion('type', [keptMessageSchema, compactionItemSchema])),
  usage: usageSchema,
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
