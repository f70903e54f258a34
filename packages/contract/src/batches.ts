import { z } from 'zod';
import { metadataSchema } from './create-response.ts';
import { pageOf } from './pages.ts';
import { anyId, pageLimit } from './request-parts.ts';

/** Batches, in the form of OpenAI's API (https://platform.openai.com/docs/api-reference/batch). */

/** The endpoints that the lines of a batch may call. */
export const batchEndpoints = ['/v1/responses', '/v1/chat/completions', '/v1/embeddings'] as const;
export type BatchEndpoint = (typeof batchEndpoints)[number];

/** The endpoints of all lines, with that of the batches that another protocol makes. */
export const lineEndpoints = [...batchEndpoints, '/v1/messages'] as const;
export type LineEndpoint = (typeof lineEndpoints)[number];

export const batchStatuses = [
  'validating',
  'failed',
  'in_progress',
  'finalizing',
  'completed',
  'expired',
  'cancelling',
  'cancelled',
] as const;
export type BatchStatus = (typeof batchStatuses)[number];

export const createBatchSchema = z.strictObject({
  input_file_id: z.string().min(1).max(64),
  endpoint: z.enum(batchEndpoints),
  completion_window: z.literal('24h'),
  metadata: metadataSchema.optional(),
  output_expires_after: z
    .strictObject({ anchor: z.literal('created_at'), seconds: z.int().min(3_600).max(2_592_000) })
    .optional(),
});

const time = z.int().nullable();
const tokens = z.int().min(0);

/** An error in a line of the input, or in all of it. */
export const batchErrorSchema = z.object({
  code: z.string(),
  line: z.int().nullable(),
  message: z.string(),
  param: z.string().nullable(),
});
export type BatchError = z.infer<typeof batchErrorSchema>;

export const batchSchema = z.object({
  id: z.string(),
  object: z.literal('batch'),
  endpoint: z.enum(batchEndpoints),
  status: z.enum(batchStatuses),
  input_file_id: z.string(),
  completion_window: z.literal('24h'),
  errors: z.object({ object: z.literal('list'), data: z.array(batchErrorSchema) }).nullable(),
  output_file_id: z.string().nullable(),
  error_file_id: z.string().nullable(),
  created_at: z.int(),
  in_progress_at: time,
  expires_at: z.int(),
  finalizing_at: time,
  completed_at: time,
  failed_at: time,
  expired_at: time,
  cancelling_at: time,
  cancelled_at: time,
  request_counts: z.object({ total: z.int().min(0), completed: z.int().min(0), failed: z.int().min(0) }),
  usage: z.object({
    input_tokens: tokens,
    input_tokens_details: z.object({ cached_tokens: tokens }),
    output_tokens: tokens,
    output_tokens_details: z.object({ reasoning_tokens: tokens }),
    total_tokens: tokens,
  }),
  metadata: z.record(z.string(), z.string()).nullable(),
});
export type Batch = z.infer<typeof batchSchema>;

export const batchListSchema = pageOf(batchSchema);

export const listBatchesQuerySchema = z.object({
  limit: pageLimit(),
  after: anyId().optional(),
});
