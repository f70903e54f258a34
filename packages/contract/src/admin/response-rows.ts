import { z } from 'zod';
import { responseIdSchema } from '../ids.ts';
import { statuses } from '../response.ts';
import { serviceTiers } from '../service-tier.ts';
import { count, countedSchema, modes, moment } from './values.ts';

/** A response as a row of the list over all tenants. It has no content. */
export const responseRowSchema = z.object({
  id: responseIdSchema,
  tenant: z.string(),
  model: z.string(),
  tier: z.enum(serviceTiers),
  mode: z.enum(modes),
  status: z.enum(statuses),
  error_code: z.string().nullable(),
  accepted_at: moment,
  /** When its first attempt began. */
  started_at: moment.nullable(),
  /** When the upstream gave its first output, in the attempt that counts. */
  first_output_at: moment.nullable(),
  ended_at: moment.nullable(),
  attempts: count,
  input_tokens: count.nullable(),
  output_tokens: count.nullable(),
});
export type ResponseRow = z.output<typeof responseRowSchema>;

/** The fields whose values the filters complete. */
export const facetFields = ['status', 'model', 'tenant', 'tier', 'mode', 'error_code'] as const;
export type FacetField = (typeof facetFields)[number];

/**
 * What a list is narrowed to. Values of one field are alternatives, fields add up. `metadata` is `key:value`, exactly. `id` is how
 * an id begins, with or without the prefix of a mount.
 */
export const responseFilterSchema = z.strictObject({
  status: z.array(z.enum(statuses)).max(16).optional(),
  model: z.array(z.string().max(256)).max(64).optional(),
  tenant: z.array(z.string().max(256)).max(64).optional(),
  tier: z.array(z.enum(serviceTiers)).max(8).optional(),
  mode: z.array(z.enum(modes)).max(8).optional(),
  error_code: z.array(z.string().max(128)).max(64).optional(),
  /** Accepted at this moment or later. */
  from: moment.optional(),
  /** Accepted before this moment. */
  to: moment.optional(),
  id: z.string().max(128).optional(),
  metadata: z.array(z.string().max(600)).max(16).optional(),
});
export type ResponseFilter = z.output<typeof responseFilterSchema>;

/**
 * What can be looked for besides, where nothing is done with what is found. `request_id` is how the id of the request begins
 * that created the response.
 */
export const responseSearchSchema = responseFilterSchema.extend({
  request_id: z.string().max(128).optional(),
});
export type ResponseSearch = z.output<typeof responseSearchSchema>;

/** How much of the journal a process has read. */
export const indexStateSchema = z.object({
  state: z.enum(['off', 'loading', 'ready', 'unavailable']),
  loaded_percent: z.number().min(0).max(100),
  /** Responses in it. */
  size: count,
  /** It ran out of memory, and keeps fewer responses than the settings say since then. */
  is_reduced: z.boolean().optional(),
});

export const responseRowsSchema = z.object({
  object: z.literal('list'),
  data: z.array(responseRowSchema),
  has_more: z.boolean(),
  /** For `after`; null on the last page. */
  next: z.string().nullable(),
  /** How many match in all. */
  total: count,
  index: indexStateSchema,
});
export type ResponseRows = z.output<typeof responseRowsSchema>;

/** The values of each field among the responses that match the other fields of the filter, most frequent first. */
export const facetsSchema = z.object({
  object: z.literal('facets'),
  fields: z.record(z.enum(facetFields), z.array(countedSchema)),
  index: indexStateSchema,
});
export type Facets = z.output<typeof facetsSchema>;

/** An event `rows` of `GET /responses/events`: rows that match and are new or have changed since the last one. */
export const rowsEventSchema = z.object({
  rows: z.array(responseRowSchema),
  /** Ids of rows that matched before and no longer do. */
  gone: z.array(responseIdSchema).optional(),
  total: count,
});
export type RowsEvent = z.output<typeof rowsEventSchema>;
