import { createResponseSchema, jsonObjectSchema, toolModeSchema } from '@sluice/contract';
import { z } from 'zod';
import { cacheControl } from '../cache-marks.ts';
import { unsupported } from '../members.ts';
import { reasoningMembers, serverMembers } from './unsupported-members.ts';

/**
 * The request of a chat completion, as OpenAI's API reference has it. Members of a form that the Responses API has, too, are checked by
 * that; here is what they look like. A `cache_control` is not OpenAI's: clients of LiteLLM and OpenRouter send it.
 */

const marked = { cache_control: cacheControl };

const textPart = z.object({ type: z.literal('text'), text: z.string(), ...marked });
const imagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: z.string(), detail: z.enum(['auto', 'low', 'high', 'original']).nullish() }),
  ...marked,
});
const filePart = z.object({
  type: z.literal('file'),
  file: z.object({
    filename: z.string().nullish(),
    file_data: z.string().nullish(),
    file_id: z.string().nullish(),
  }),
  ...marked,
});
const refusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });
const mediaPart = z.discriminatedUnion('type', [textPart, imagePart, filePart]);

export const toolCall = z.discriminatedUnion('type', [
  z.object({
    id: z.string(),
    type: z.literal('function'),
    function: z.object({ name: z.string(), arguments: z.string() }),
  }),
  z.object({
    id: z.string(),
    type: z.literal('custom'),
    custom: z.object({ name: z.string(), input: z.string() }),
  }),
]);

const [functionCall, customCall] = toolCall.options;
const markedCall = z.discriminatedUnion('type', [functionCall.extend(marked), customCall.extend(marked)]);

const instruction = { content: z.union([z.string(), z.array(textPart)]), name: unsupported, ...marked };
const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), ...instruction }),
  z.object({ role: z.literal('developer'), ...instruction }),
  z.object({
    role: z.literal('user'),
    content: z.union([z.string(), z.array(mediaPart)]),
    name: unsupported,
    ...marked,
  }),
  z.object({
    role: z.literal('assistant'),
    content: z.union([z.string(), z.array(z.discriminatedUnion('type', [textPart, refusalPart]))]).nullish(),
    refusal: z.string().nullish(),
    /** The reasoning of models behind vLLM, DeepSeek and others, under either of its names. */
    reasoning_content: z.string().nullish(),
    reasoning: z.string().nullish(),
    tool_calls: z.array(markedCall).nullish(),
    name: unsupported,
    function_call: unsupported,
    audio: unsupported,
    ...marked,
  }),
  z.object({
    role: z.literal('tool'),
    tool_call_id: z.string(),
    content: z.union([z.string(), z.array(mediaPart)]),
    ...marked,
  }),
]);

export type ChatMessage = z.output<typeof message>;
export type ChatPart = z.output<typeof mediaPart> | z.output<typeof refusalPart>;

const tool = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('function'),
    function: z.object({
      name: z.string(),
      description: z.string().nullish(),
      parameters: jsonObjectSchema.nullish(),
      strict: z.boolean().nullish(),
      ...marked,
    }),
    ...marked,
  }),
  z.object({
    type: z.literal('custom'),
    custom: z.object({
      name: z.string(),
      description: z.string().nullish(),
      format: z
        .discriminatedUnion('type', [
          z.object({ type: z.literal('text') }),
          z.object({
            type: z.literal('grammar'),
            grammar: z.object({ syntax: z.enum(['lark', 'regex']), definition: z.string() }),
          }),
        ])
        .nullish(),
    }),
    ...marked,
  }),
]);
export type ChatTool = z.output<typeof tool>;

export const namedTool = z.discriminatedUnion('type', [
  z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) }),
  z.object({ type: z.literal('custom'), custom: z.object({ name: z.string() }) }),
]);
const toolChoice = z.union([
  toolModeSchema,
  z.discriminatedUnion('type', [
    ...namedTool.options,
    z.object({
      type: z.literal('allowed_tools'),
      allowed_tools: z.object({ mode: toolModeSchema, tools: z.array(namedTool) }),
    }),
  ]),
]);
export type ChatToolChoice = z.output<typeof toolChoice>;

export const responseFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    json_schema: z.object({
      name: z.string(),
      description: z.string().nullish(),
      schema: jsonObjectSchema.nullish(),
      strict: z.boolean().nullish(),
    }),
  }),
]);

const responses = createResponseSchema.shape;
const { effort } = responses.reasoning.unwrap().shape;

export const chatRequestSchema = z.object({
  model: responses.model,
  messages: z.array(message).min(1).max(4096),
  stream: responses.stream,
  stream_options: z
    .object({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .optional(),
  temperature: responses.temperature,
  top_p: responses.top_p,
  presence_penalty: responses.presence_penalty,
  frequency_penalty: responses.frequency_penalty,
  logprobs: z.boolean().optional(),
  top_logprobs: responses.top_logprobs,
  max_tokens: z.int().min(1).optional(),
  max_completion_tokens: z.int().min(1).optional(),
  stop: z.union([z.string().min(1), z.array(z.string().min(1)).max(16)]).optional(),
  seed: z.int().optional(),
  n: z
    .int()
    .refine((count) => count === 1, {
      params: { code: 'unsupported_value', message: "'n' must be 1: each request is one response." },
    })
    .optional(),
  tools: z.array(tool).max(128).optional(),
  tool_choice: toolChoice.optional(),
  parallel_tool_calls: responses.parallel_tool_calls,
  response_format: responseFormat.optional(),
  reasoning_effort: effort.optional(),
  /** OpenRouter's. Only how much a model thinks has a place in a response. */
  reasoning: z.object({ effort, enabled: z.boolean().nullish(), ...reasoningMembers }).optional(),
  verbosity: responses.text.unwrap().shape.verbosity.optional(),
  modalities: z
    .array(z.string())
    .refine((all) => all.length === 1 && all[0] === 'text', { params: { code: 'unsupported_value' } })
    .optional(),
  store: responses.store,
  metadata: responses.metadata,
  service_tier: responses.service_tier,
  prompt_cache_key: responses.prompt_cache_key,
  safety_identifier: responses.safety_identifier,
  user: responses.user,
  logit_bias: z
    .unknown()
    .refine((bias) => typeof bias === 'object' && bias !== null && Object.keys(bias).length === 0, {
      params: { code: 'unsupported_parameter' },
    })
    .optional(),
  functions: unsupported,
  function_call: unsupported,
  audio: unsupported,
  prediction: unsupported,
  web_search_options: unsupported,
  ...serverMembers,
});

export type ChatRequestBody = z.output<typeof chatRequestSchema>;
export type ChatNamedTool = z.output<typeof namedTool>;
export type ChatResponseFormat = z.output<typeof responseFormat>;
