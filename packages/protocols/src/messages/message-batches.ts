import { ServiceError } from '@sluice/contract';
import { z } from 'zod';

/** Batches of messages, in the form of Anthropic's API (https://docs.claude.com/en/api/creating-message-batches). */

const customId = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);

export const createMessageBatchSchema = z.object({
  requests: z
    .array(z.object({ custom_id: customId, params: z.record(z.string(), z.unknown()) }))
    .min(1)
    .max(10_000),
});
export type CreateMessageBatch = z.output<typeof createMessageBatchSchema>;

const time = z.iso.datetime();
const count = z.int().min(0);

export const messageBatchSchema = z.object({
  id: z.string(),
  type: z.literal('message_batch'),
  processing_status: z.enum(['in_progress', 'canceling', 'ended']),
  request_counts: z.object({
    processing: count,
    succeeded: count,
    errored: count,
    canceled: count,
    expired: count,
  }),
  created_at: time,
  expires_at: time,
  ended_at: time.nullable(),
  cancel_initiated_at: time.nullable(),
  archived_at: z.null(),
  /** Below the address of the service; null until the batch has ended. */
  results_url: z.string().nullable(),
});
export type MessageBatch = z.output<typeof messageBatchSchema>;

export const messageBatchListSchema = z.object({
  data: z.array(messageBatchSchema),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
});

export const deletedMessageBatchSchema = z.object({
  id: z.string(),
  type: z.literal('message_batch_deleted'),
});

/**
 * The lines of a batch, as JSON, one for each request. What is wrong with the `params` of a request is said by its result.
 *
 * @throws {ServiceError} for an id that stands twice.
 */
export function linesOfMessages({ requests }: CreateMessageBatch): string {
  const seen = new Set<string>();
  const lines = requests.map(({ custom_id, params }, at) => {
    if (seen.has(custom_id)) {
      const message = `'custom_id' ${custom_id} stands twice.`;
      throw new ServiceError('invalid_value', message, { param: `requests[${at}].custom_id` });
    }
    seen.add(custom_id);
    return `${JSON.stringify({ custom_id, method: 'POST', url: '/v1/messages', body: params })}\n`;
  });
  return lines.join('');
}
