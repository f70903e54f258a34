import { z } from 'zod';
import { inputSchema, toolNameSchema } from './items.ts';

const penalty = z.number().min(-2).max(2);
const jsonObject = z.record(z.string(), z.unknown());

const functionToolSchema = z.object({
  type: z.literal('function'),
  name: toolNameSchema,
  description: z.string().nullish(),
  parameters: jsonObject.nullish(),
  strict: z.boolean().nullish(),
});
/**
 * Tools this service does not run (Codex always sends `web_search` and `namespace`) are accepted and dropped:
 * a foreign tool becomes `undefined`, so that the tools behind it keep their index in an error's `param`.
 */
const toolSchema = z.preprocess(
  (tool) => (isForeign(tool, ['function']) ? undefined : tool),
  functionToolSchema.optional(),
);

/** Whether a tool, or a choice of one, has a type that is not among ours. */
function isForeign(value: unknown, ours: readonly string[]): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    typeof value.type === 'string' &&
    value.type !== '' &&
    !ours.includes(value.type)
  );
}

const namedFunction = z.object({ type: z.literal('function'), name: toolNameSchema });
const ownToolChoiceSchema = z.union([
  z.enum(['none', 'auto', 'required']),
  z.discriminatedUnion('type', [
    namedFunction,
    z.object({
      type: z.literal('allowed_tools'),
      mode: z.enum(['none', 'auto', 'required']).nullish(),
      tools: z.array(namedFunction).min(1).max(128),
    }),
  ]),
]);
/** The choice of a tool that was dropped is dropped with it. */
const toolChoiceSchema = z.preprocess(
  (choice) => (isForeign(choice, ['function', 'allowed_tools']) ? undefined : choice),
  ownToolChoiceSchema.optional(),
);

const formatSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    name: toolNameSchema.nullish(),
    description: z.string().nullish(),
    schema: jsonObject.nullish(),
    strict: z.boolean().nullish(),
  }),
]);

const metadataSchema = z
  .record(z.string().max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= 16, {
    params: { code: 'invalid_value', message: 'metadata may have at most 16 pairs.' },
  });

export const includeValues = [
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
] as const;

/**
 * The body of a create request, after `null` members of the top level were taken out (they mean "absent").
 *
 * Members that are not named here are ignored: SDKs send newer ones before this service learns of them.
 * The order of the members is the order in which problems are reported.
 */
export const createResponseSchema = z.object({
  model: z.string().min(1).max(256),
  input: inputSchema,
  stream: z.boolean().optional(),
  stream_options: z.object({ include_obfuscation: z.boolean().nullish() }).optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  presence_penalty: penalty.optional(),
  frequency_penalty: penalty.optional(),
  top_logprobs: z.int().min(0).max(20).optional(),
  max_output_tokens: z.int().min(16).optional(),
  max_tool_calls: z.int().min(1).optional(),
  parallel_tool_calls: z.boolean().optional(),
  tools: z
    .array(toolSchema)
    .max(128)
    .transform((tools) => tools.filter((tool) => tool !== undefined))
    .optional(),
  tool_choice: toolChoiceSchema.optional(),
  text: z
    .object({
      format: formatSchema.nullish(),
      verbosity: z.enum(['low', 'medium', 'high']).nullish(),
    })
    .optional(),
  reasoning: z
    .object({
      effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish(),
      summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
      generate_summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
    })
    .optional(),
  instructions: z.string().max(10_485_760).optional(),
  previous_response_id: z.string().max(256).optional(),
  conversation: z.union([z.string().max(256), z.object({ id: z.string().max(256) })]).optional(),
  store: z.boolean().optional(),
  background: z.boolean().optional(),
  metadata: metadataSchema.optional(),
  include: z.array(z.enum(includeValues)).max(64).optional(),
  truncation: z.enum(['auto', 'disabled']).optional(),
  service_tier: z.enum(['auto', 'default', 'flex', 'priority', 'scale', 'fast', 'ultrafast']).optional(),
  prompt_cache_key: z.string().max(64).optional(),
  safety_identifier: z.string().max(128).optional(),
  user: z.string().max(512).optional(),
  prompt: z.unknown().optional(),
});

/** Members whose range errors speak of integers; zod's own issue does not say. */
export const integerMembers: ReadonlySet<string> = new Set([
  'top_logprobs',
  'max_output_tokens',
  'max_tool_calls',
]);

export type CreateResponseBody = z.output<typeof createResponseSchema>;
export type FunctionTool = z.output<typeof functionToolSchema>;
export type ToolChoice = z.output<typeof ownToolChoiceSchema>;
export type TextFormat = z.output<typeof formatSchema>;
