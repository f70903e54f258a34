import { z } from 'zod';
import {
  createResponseSchema,
  customFormatSchema,
  jsonObjectSchema,
  namedToolSchema,
  toolModeSchema,
} from './create-response.ts';
import { failureBodySchema } from './error-body.ts';
import { responseIdSchema } from './ids.ts';
import { outputItemSchema, usageSchema } from './output.ts';
import { serviceTiers } from './service-tier.ts';

export const statuses = ['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'] as const;
export type Status = (typeof statuses)[number];

const incompleteReasonSchema = z.enum(['max_output_tokens', 'content_filter', 'max_tool_calls', 'cancelled']);
export type IncompleteReason = z.output<typeof incompleteReasonSchema>;

const effortSchema = z.enum(['none', 'low', 'medium', 'high', 'xhigh']);
export type Effort = z.output<typeof effortSchema>;

const unixSeconds = z.int();

const echoedToolSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('function'),
    name: z.string(),
    description: z.string().nullable(),
    parameters: jsonObjectSchema.nullable(),
    strict: z.boolean().nullable(),
  }),
  z.object({
    type: z.literal('custom'),
    name: z.string(),
    description: z.string().exactOptional(),
    format: customFormatSchema,
  }),
]);

const echoedToolChoiceSchema = z.union([
  toolModeSchema,
  z.discriminatedUnion('type', [
    ...namedToolSchema.options,
    z.object({
      type: z.literal('allowed_tools'),
      mode: toolModeSchema,
      tools: z.array(namedToolSchema),
    }),
  ]),
]);

const echoedFormatSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    name: z.string(),
    description: z.string().nullable(),
    schema: jsonObjectSchema,
    strict: z.boolean(),
  }),
]);

/** A response echoes members of its request, so their schemas hold here as well. */
const asked = createResponseSchema.shape;

const id = responseIdSchema;
const members = {
  created_at: unixSeconds,
  completed_at: unixSeconds.nullable(),
  status: z.enum(statuses),
  /** The place of a response that waits: 1 is next. */
  queue_position: z.int().min(1).exactOptional(),
  /** When the response is expected to start; null while nobody can tell. */
  estimated_start_at: unixSeconds.nullable().exactOptional(),
  incomplete_details: z.object({ reason: incompleteReasonSchema }).nullable(),
  error: failureBodySchema.nullable(),
  model: z.string(),
  output: z.array(outputItemSchema),
  output_text: z.string(),
  usage: usageSchema.nullable(),
  instructions: asked.instructions.unwrap().nullable(),
  previous_response_id: asked.previous_response_id.unwrap().nullable(),
  tools: z.array(echoedToolSchema),
  tool_choice: echoedToolChoiceSchema,
  parallel_tool_calls: z.boolean(),
  text: z.object({
    format: echoedFormatSchema,
    verbosity: z.enum(['low', 'medium', 'high']).exactOptional(),
  }),
  temperature: asked.temperature.unwrap(),
  top_p: asked.top_p.unwrap(),
  presence_penalty: asked.presence_penalty.unwrap(),
  frequency_penalty: asked.frequency_penalty.unwrap(),
  top_logprobs: asked.top_logprobs.unwrap(),
  reasoning: z
    .object({
      effort: effortSchema.nullable(),
      summary: z.enum(['auto', 'concise', 'detailed']).nullable(),
    })
    .nullable(),
  max_output_tokens: asked.max_output_tokens.unwrap().nullable(),
  max_tool_calls: asked.max_tool_calls.unwrap().nullable(),
  truncation: asked.truncation.unwrap(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.enum(serviceTiers),
  metadata: asked.metadata.unwrap(),
  safety_identifier: asked.safety_identifier.unwrap().nullable(),
  prompt_cache_key: asked.prompt_cache_key.unwrap().nullable(),
  user: asked.user.unwrap().exactOptional(),
};

/**
 * A response inside the service. It has no `object`, because that depends on the mount it is sent from.
 *
 * Only `user` and `text.verbosity` may be absent from a body. SDKs and the public compliance suite fail without the others.
 */
export const responseSchema = z.object({
  id,
  ...members,
  /** The text of `stop` before which the output has ended. Bodies of the Responses API do not have it; the door of messages tells it. */
  stop_sequence: z.string().exactOptional(),
});
export type Response = z.output<typeof responseSchema>;

/** A response as a client receives it, as a body or in a life-cycle event. The mount decides its `object`. */
export const responseBodySchema = z.object({
  id,
  object: z.enum(['response', 'create_response']),
  ...members,
});
export type ResponseBody = z.output<typeof responseBodySchema>;

/** The members that the end of a response adds to it. */
export const responseEndSchema = responseSchema.pick({
  status: true,
  completed_at: true,
  incomplete_details: true,
  error: true,
  output: true,
  usage: true,
  stop_sequence: true,
});
export type ResponseEnd = z.output<typeof responseEndSchema>;
