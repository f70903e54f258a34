import { z } from 'zod';
import { responseIdSchema } from '../ids.ts';
import { statuses } from '../response.ts';
import { responseFilterSchema } from './response-rows.ts';
import { count, moment } from './values.ts';

/** What can be done with many responses at once. */
export const bulkActions = ['cancel', 'retry'] as const;

/** Does something with everything that matches. `expected` is the count that was confirmed; more than that is refused. */
export const startActSchema = z.strictObject({
  action: z.enum(bulkActions),
  filter: responseFilterSchema,
  expected: count,
});
export type StartAct = z.output<typeof startActSchema>;

/** Something done with many, and how far it is. Any api process can say so. */
export const actSchema = z.object({
  id: z.string(),
  object: z.literal('act'),
  action: z.enum([...bulkActions, 'drain']),
  /** The filter, or the queue that is drained. */
  target: z.string(),
  /** `interrupted`: the process that did it is gone. */
  state: z.enum(['running', 'done', 'stopped', 'interrupted', 'failed']),
  total: count,
  done: count,
  /** Looked at, and nothing was to do any more. */
  skipped: count,
  failed: count,
  error: z.string().nullable(),
  started_at: moment,
  ended_at: moment.nullable(),
});
export type Act = z.output<typeof actSchema>;

export const actListSchema = z.object({ object: z.literal('list'), data: z.array(actSchema) });

/** What became of a response that was to be cancelled. Another status than `cancelled`: it had ended, or its worker is not done yet. */
export const cancelledSchema = z.object({
  object: z.literal('cancelled'),
  id: responseIdSchema,
  status: z.enum(statuses),
});
export type CancelledResponse = z.output<typeof cancelledSchema>;

/** A response that was made to try another one again. */
export const retriedSchema = z.object({
  object: z.literal('retried'),
  id: responseIdSchema,
  retry_of: responseIdSchema,
});
export type Retried = z.output<typeof retriedSchema>;

/** Everything that changes something leaves one of these. */
export const auditEntrySchema = z.object({
  id: z.string(),
  at: moment,
  /** The word of what was done, such as `response.cancel`, `queue.pause`, `key.create`, `response.reveal`. */
  action: z.string(),
  /** What it was done to: an id, a queue, a tenant, a filter. */
  target: z.string(),
  /** Where it came from: the address of the peer. */
  address: z.string(),
  outcome: z.enum(['asked', 'done', 'refused', 'failed']),
  detail: z.string().nullable(),
  /** The id of the entry `asked` that an outcome belongs to. */
  asked: z.string().nullable(),
});
export type AuditEntry = z.output<typeof auditEntrySchema>;

export const auditListSchema = z.object({
  object: z.literal('list'),
  data: z.array(auditEntrySchema),
  has_more: z.boolean(),
  next: z.string().nullable(),
});
export type AuditList = z.output<typeof auditListSchema>;
