import { z } from 'zod';
import { failureBodySchema } from '../error-body.ts';
import { usageSchema } from '../output.ts';
import { responseRowSchema } from './response-rows.ts';
import { count, moment, span } from './values.ts';

/** Why a response was not running although it could have been. */
export const waitReasons = [
  /** As many of its tenant ran as may. */
  'tenant_full',
  /** Every slot of its model was taken, and others were in front of it. */
  'behind_others',
  /** Nobody was in front of it, and as many of its model ran as may, or no worker had a slot. */
  'model_full',
  /** Its queue was paused by an operator. */
  'queue_paused',
  /** Its upstream limits the service. */
  'upstream_parked',
  /** Its upstream is down. */
  'upstream_open',
  /** Its upstream has as many calls as it takes. */
  'upstream_busy',
  /** Its upstream's own queue is too long. */
  'upstream_saturated',
  /** Its worker had no room for its input. */
  'worker_memory',
  /** Its worker did not know its model: it had not read of it yet, or the model was removed. */
  'model_unknown',
  /** It waited for another try after a failed one. */
  'retry_delay',
  /** A worker stopped or died, and another one had to take it. */
  'worker_lost',
] as const;
export type WaitReason = (typeof waitReasons)[number];

/** One piece of the bar from the accept to the end, without gaps. The last one of an open response has no end. */
export const phaseSchema = z.object({
  kind: z.enum(['waiting', 'starting', 'generating']),
  from: moment,
  to: moment.nullable(),
  /** The reason of a wait; null when it is too short to have one. */
  because: z.enum(waitReasons).nullable(),
});
export type Phase = z.output<typeof phaseSchema>;

/** One run of the response, newest last. Null is what is not known (yet, or any more). */
export const attemptSchema = z.object({
  attempt: count,
  worker: z.string().nullable(),
  /** The host and the process of the worker, as the overview lists it. */
  worker_host: z.string().nullable(),
  worker_pid: z.int().nullable(),
  provider: z.string().nullable(),
  upstream_model: z.string().nullable(),
  started_at: moment.nullable(),
  first_output_at: moment.nullable(),
  ended_at: moment.nullable(),
  outcome: z.enum(['running', 'ended', 'failed', 'retried', 'postponed', 'given_back', 'lost']),
  error_code: z.string().nullable(),
  upstream_status: z.int().nullable(),
  /** What the upstream said of its failure, without keys, addresses and words of the request. */
  upstream_reason: z.string().nullable(),
  retry_delay_ms: span.nullable(),
});
export type AttemptReport = z.output<typeof attemptSchema>;

/** A thing that happened to it, in order. */
export const journalEntrySchema = z.object({ at: moment, what: z.string(), detail: z.string().nullable() });

/** One response, without its content. */
export const responseDetailSchema = z.object({
  object: z.literal('response_detail'),
  row: responseRowSchema,
  /** Whether its record is kept. Without it there is only what the journal says. */
  is_kept: z.boolean(),
  request_id: z.string().nullable(),
  /** The response of which an operator made this one: in the background and stored, however that one was asked for. */
  retry_of: z.string().nullable(),
  /** The responses that operators made of it, oldest first. */
  retried_as: z.array(z.string()),
  metadata: z.record(z.string(), z.string()),
  /** The members of its request that are no content. */
  parameters: z.record(z.string(), z.unknown()),
  previous_response_id: z.string().nullable(),
  input_bytes: count.nullable(),
  queue_position: count.nullable(),
  estimated_start_at: moment.nullable(),
  phases: z.array(phaseSchema),
  attempts: z.array(attemptSchema),
  journal: z.array(journalEntrySchema),
  /** Entries between the first and the last ones that were not kept, because there were too many. */
  journal_left_out: count,
  usage: usageSchema.nullable(),
  error: failureBodySchema.nullable(),
  incomplete_reason: z.string().nullable(),
  /** Whether its events can be read, and the number of the last one. */
  events: z.object({ is_kept: z.boolean(), last: z.int().nullable() }),
});
export type ResponseDetail = z.output<typeof responseDetailSchema>;

/** What it was asked and what it answered: shown when somebody who may act asks for it, which is logged. */
export const responseContentSchema = z.object({
  object: z.literal('response_content'),
  instructions: z.unknown(),
  input: z.array(z.unknown()),
  output: z.array(z.unknown()),
  output_text: z.string(),
});
export type ResponseContent = z.output<typeof responseContentSchema>;

/** An event `event` of `GET /responses/{id}/events`. `event` itself is there when content was asked for and may be shown. */
export const tailEventSchema = z.object({
  sequence_number: z.int().min(0),
  type: z.string(),
  bytes: count,
  event: z.unknown().optional(),
});
export type TailEvent = z.output<typeof tailEventSchema>;

/** The event `end`, the last one: everything was sent, or the response was deleted or has expired. */
export const tailEndSchema = z.object({ reason: z.enum(['ended', 'gone']) });
export type TailEnd = z.output<typeof tailEndSchema>;
