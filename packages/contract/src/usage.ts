import { z } from 'zod';
import { choice, member } from './request-parts.ts';

/**
 * What responses took, in the form of OpenAI's usage API (https://platform.openai.com/docs/api-reference/usage/completions): buckets of
 * time, and in each the sums of what its responses have in common.
 */

/** The groups of usage. A project is a tenant, and a label the value of a member of metadata, which is an addition of this service. */
export const usageGroups = ['project_id', 'api_key_id', 'model', 'batch', 'service_tier', 'label'] as const;
export type UsageGroup = (typeof usageGroups)[number];

/** How long a bucket is, in seconds, and how many of them a page has: by default, and at most. */
export const bucketWidths = {
  '1d': { seconds: 86_400, usual: 7, most: 31 },
  '1h': { seconds: 3_600, usual: 24, most: 168 },
} as const;

/** Most values of one filter. */
const mostValues = 100;

const lists = ['project_ids', 'api_key_ids', 'models', 'line_items', 'group_by'] as const;

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

/** A time, a page and filters: what a question for usage and one for costs have in common. */
const questionMembers = {
  start_time: second('start_time'),
  end_time: second('end_time').optional(),
  limit: member(z.int().min(1).max(180), (value, refuse) =>
    typeof value === 'string' && /^\d{1,5}$/.test(value)
      ? Number(value)
      : refuse("'limit' must be an integer.", 'invalid_type'),
  ).optional(),
  project_ids: values(),
  api_key_ids: values(),
  page: member(z.string().regex(/^page_\d{1,12}$/), (value, refuse) =>
    typeof value === 'string' && /^page_\d{1,12}$/.test(value)
      ? value
      : refuse("'page' must be a next_page that this server has answered with."),
  ).optional(),
};

type Refuse = (path: string, code: string, message: string) => void;
const refuseBy =
  (context: z.core.$RefinementCtx): Refuse =>
  (path, code, message) =>
    context.addIssue({ code: 'custom', path: [path], params: { code, message } });

function checkTimes(
  { start_time, end_time }: { start_time: number; end_time?: number | undefined },
  refuse: Refuse,
) {
  if (end_time !== undefined && end_time <= start_time)
    refuse('end_time', 'invalid_value', "'end_time' must be later than 'start_time'.");
}

export const usageQuerySchema = z.preprocess(
  withLists,
  z
    .object({
      ...questionMembers,
      bucket_width: choice('bucket_width', ['1d', '1h']),
      group_by: z.array(z.enum(usageGroups)).max(usageGroups.length).optional(),
      models: values(),
      batch: member(z.boolean(), (value, refuse) =>
        value === 'true' || value === 'false' ? value === 'true' : refuse("'batch' must be true or false."),
      ).optional(),
    })
    .superRefine((query, context) => {
      const refuse = refuseBy(context);
      checkTimes(query, refuse);
      const { bucket_width, limit } = query;
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

const amountSchema = z.object({
  value: z.number().min(0),
  /** In lower case, as `usd`. */
  currency: z.string(),
});

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
  label: z.string().nullable(),
  output_reasoning_tokens: tokens,
  /** An estimate of what upstreams took that were cut off before they counted. */
  uncounted_tokens: tokens,
  num_completed: z.int().min(0),
  num_failed: z.int().min(0),
  num_incomplete: z.int().min(0),
  num_cancelled: z.int().min(0),
  /** How long responses held a slot of a worker together, in seconds. */
  slot_seconds: z.number().min(0),
  /** Their cost by the prices of their models, as the costs have it. */
  amount: amountSchema,
});

export type UsageResult = z.infer<typeof usageResultSchema>;

function pageSchemaOf<Result extends z.ZodType>(result: Result) {
  return z.object({
    object: z.literal('page'),
    data: z.array(
      z.object({
        object: z.literal('bucket'),
        /** In seconds since 1970. */
        start_time: z.int(),
        end_time: z.int(),
        results: z.array(result),
      }),
    ),
    has_more: z.boolean(),
    next_page: z.string().nullable(),
  });
}

export const usagePageSchema = pageSchemaOf(usageResultSchema);
export type UsagePage = z.infer<typeof usagePageSchema>;

/** By what costs may be grouped. A line item is a model. */
export const costGroups = ['project_id', 'line_item', 'api_key_id'] as const;
export type CostGroup = (typeof costGroups)[number];

/** Buckets of days (https://platform.openai.com/docs/api-reference/usage/costs). */
export const costQuerySchema = z.preprocess(
  withLists,
  z
    .object({
      ...questionMembers,
      bucket_width: choice('bucket_width', ['1d']),
      group_by: z.array(z.enum(costGroups)).max(costGroups.length).optional(),
      line_items: values(),
    })
    .superRefine((query, context) => checkTimes(query, refuseBy(context))),
);
export type CostQueryParams = z.output<typeof costQuerySchema>;

export const costResultSchema = z.object({
  object: z.literal('organization.costs.result'),
  amount: amountSchema,
  line_item: z.string().nullable(),
  project_id: z.string().nullable(),
  api_key_id: z.string().nullable(),
});
export type CostResult = z.infer<typeof costResultSchema>;

export const costPageSchema = pageSchemaOf(costResultSchema);
export type CostPage = z.infer<typeof costPageSchema>;
