import { z } from 'zod';
import { choice, member } from './request-parts.ts';

/**
 * What responses took, in the form of OpenAI's usage API (https://platform.openai.com/docs/api-reference/usage/completions): buckets of
 * time, and in each the sums of what its responses have in common.
 */

/** By what usage may be grouped. A project is a tenant. */
export const usageGroups = ['project_id', 'api_key_id', 'model', 'batch', 'service_tier'] as const;
export type UsageGroup = (typeof usageGroups)[number];

/** How long a bucket is, in seconds, and how many of them a page has: by default, and at most. */
export const bucketWidths = {
  '1d': { seconds: 86_400, usual: 7, most: 31 },
  '1h': { seconds: 3_600, usual: 24, most: 168 },
} as const;

/** Most values of one filter. */
const mostValues = 100;

const lists = ['project_ids', 'api_key_ids', 'models', 'group_by'] as const;

/** The official clients send `models[]=a&models[]=b`; others leave out the brackets. */
function withLists(query: unknown): Record<string, unknown> {
  const members: Record<string, unknown> = { ...(typeof query === 'object' && query !== null ? query : {}) };
  for (const name of lists) {
    const given = [members[`${name}[]`] ?? [], members[name] ?? []].flat();
    if (given.length > 0) members[name] = given;
  }
  return members;
}

const second = (name: string) =>
  member(z.int().min(0).max(253_402_300_799), (value, refuse) =>
    typeof value === 'string' && /^\d{1,12}$/.test(value)
      ? Number(value)
      : value === undefined
        ? undefined
        : refuse(`'${name}' must be a time in whole seconds since 1970.`),
  );

const values = () => z.array(z.string().max(256)).max(mostValues).optional();

export const usageQuerySchema = z.preprocess(
  withLists,
  z
    .object({
      start_time: second('start_time'),
      end_time: second('end_time').optional(),
      bucket_width: choice('bucket_width', ['1d', '1h']),
      limit: member(z.int().min(1).max(168), (value, refuse) =>
        typeof value === 'string' && /^\d{1,5}$/.test(value)
          ? Number(value)
          : refuse("'limit' must be an integer.", 'invalid_type'),
      ).optional(),
      group_by: z.array(z.enum(usageGroups)).max(usageGroups.length).optional(),
      project_ids: values(),
      api_key_ids: values(),
      models: values(),
      batch: member(z.boolean(), (value, refuse) =>
        value === 'true' || value === 'false' ? value === 'true' : refuse("'batch' must be true or false."),
      ).optional(),
      page: member(z.string().regex(/^page_\d{1,12}$/), (value, refuse) =>
        typeof value === 'string' && /^page_\d{1,12}$/.test(value)
          ? value
          : refuse("'page' must be a next_page that this server has answered with."),
      ).optional(),
    })
    .superRefine(({ start_time, end_time, bucket_width, limit }, context) => {
      const refuse = (path: string, code: string, message: string) =>
        context.addIssue({ code: 'custom', path: [path], params: { code, message } });
      if (end_time !== undefined && end_time <= start_time)
        refuse('end_time', 'invalid_value', "'end_time' must be later than 'start_time'.");
      const { most } = bucketWidths[bucket_width];
      if (limit !== undefined && limit > most)
        refuse(
          'limit',
          'integer_above_max_value',
          `'limit' is ${most} at most where bucket_width is ${bucket_width}.`,
        );
    }),
);

export type UsageQueryParams = z.output<typeof usageQuerySchema>;

const tokens = z.int().min(0);

export const usageResultSchema = z.object({
  object: z.literal('organization.usage.completions.result'),
  num_model_requests: z.int().min(0),
  /** All of the input, with what came from a cache. */
  input_tokens: tokens,
  input_cached_tokens: tokens,
  input_cache_write_tokens: tokens,
  output_tokens: tokens,
  project_id: z.string().nullable(),
  user_id: z.null(),
  api_key_id: z.string().nullable(),
  model: z.string().nullable(),
  batch: z.boolean().nullable(),
  service_tier: z.string().nullable(),
  /** Additions of this service. */
  output_reasoning_tokens: tokens,
  /** An estimate of what upstreams took that were cut off before they counted. */
  uncounted_tokens: tokens,
  num_completed: z.int().min(0),
  num_failed: z.int().min(0),
  num_incomplete: z.int().min(0),
  num_cancelled: z.int().min(0),
  /** How long responses held a slot of a worker together, in seconds. */
  slot_seconds: z.number().min(0),
});

export type UsageResult = z.infer<typeof usageResultSchema>;

export const usagePageSchema = z.object({
  object: z.literal('page'),
  data: z.array(
    z.object({
      object: z.literal('bucket'),
      /** In seconds since 1970. */
      start_time: z.int(),
      end_time: z.int(),
      results: z.array(usageResultSchema),
    }),
  ),
  has_more: z.boolean(),
  next_page: z.string().nullable(),
});

export type UsagePage = z.infer<typeof usagePageSchema>;
