import { z } from 'zod';
import { isForeignTool, isHostedChoice } from './hosted-tools.ts';
import { inputSchema } from './items.ts';
import { requestableTiers } from './service-tier.ts';
import { strictSchemaProblem } from './strict-schema/strict-schema-problem.ts';
import { longestToolName, toolNameSchema } from './tool-names.ts';

const penalty = z.number().min(-2).max(2);
export const jsonObjectSchema = z.record(z.string(), z.unknown());

const functionToolSchema = z
  .object({
    type: z.literal('function'),
    name: toolNameSchema,
    description: z.string().nullish(),
    parameters: jsonObjectSchema.nullish(),
    strict: z.boolean().nullish(),
  })
  .superRefine(({ strict, parameters }, context) =>
    checkSchema('parameters', { strict, schema: parameters }, context),
  );
/** How the input of a custom tool is written. Whether a model keeps to a grammar is left to its server. */
export const customFormatSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({
    type: z.literal('grammar'),
    syntax: z.enum(['lark', 'regex']),
    definition: z.string().max(1_048_576),
  }),
]);
const customToolSchema = z.object({
  type: z.literal('custom'),
  name: toolNameSchema,
  description: z.string().nullish(),
  format: customFormatSchema.nullish(),
});

/**
 * A tool that this service does not run becomes `undefined` first: the tools after it keep their index, which errors name in
 * `param`. `hostedRequest` decides what becomes of it.
 */
const toolSchema = z.preprocess(
  (tool) => (isForeignTool(tool) ? undefined : tool),
  z.discriminatedUnion('type', [functionToolSchema, customToolSchema]).optional(),
);

export const toolModeSchema = z.enum(['none', 'auto', 'required']);
export const namedToolSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('function'), name: toolNameSchema }),
  z.object({ type: z.literal('custom'), name: toolNameSchema }),
]);
const ownToolChoiceSchema = z.union([
  toolModeSchema,
  z.discriminatedUnion('type', [
    ...namedToolSchema.options,
    z.object({
      type: z.literal('allowed_tools'),
      mode: toolModeSchema.nullish(),
      tools: z.array(namedToolSchema).min(1).max(128),
    }),
  ]),
]);
/** A choice of a type that nobody knows is an error: it could have been a wish that must be obeyed. */
const toolChoiceSchema = z.preprocess(
  (choice) => (isHostedChoice(choice) ? undefined : choice),
  ownToolChoiceSchema.optional(),
);

const formatSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z
    .object({
      type: z.literal('json_schema'),
      name: toolNameSchema.max(longestToolName.responses).nullish(),
      description: z.string().nullish(),
      schema: jsonObjectSchema,
      strict: z.boolean().nullish(),
    })
    .superRefine((format, context) => checkSchema('schema', format, context)),
]);

interface SchemaCheck {
  strict?: boolean | null | undefined;
  schema?: Record<string, unknown> | null | undefined;
}

/** Refuses a schema that the model is to be held to, unless it can be. One that is not strict is passed on as it is. */
function checkSchema(member: string, { strict, schema }: SchemaCheck, context: z.core.$RefinementCtx): void {
  if (strict !== true || !schema) return;
  const problem = strictSchemaProblem(schema);
  if (problem === undefined) return;
  const message = `The strict schema ${problem}.`;
  context.addIssue({ code: 'custom', path: [member], params: { code: 'invalid_value', message } });
}

export const metadataSchema = z
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
 * The body of a create request. Its caller first removes `null` members of the top level, which mean "absent".
 *
 * Unknown members are ignored, because SDKs send new ones before this service knows them. Problems are reported in the
 * order of the members here.
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
  // It bounds the calls of tools that the upstream runs. Without such tools it is accepted, echoed and has no effect.
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
  // An addition of this service: an address that is told of the end, in place of that of the tenant's endpoint at the same origin.
  webhook_url: z.string().min(1).max(2048).optional(),
  metadata: metadataSchema.optional(),
  include: z.array(z.enum(includeValues)).max(64).optional(),
  truncation: z.enum(['auto', 'disabled']).optional(),
  service_tier: z.enum(requestableTiers).optional(),
  prompt_cache_key: z.string().max(64).optional(),
  safety_identifier: z.string().max(128).optional(),
  user: z.string().max(512).optional(),
  prompt: z.unknown().optional(),
});

/** Members whose range errors have a code for integers. An issue of zod does not say whether a number is one. */
export const integerMembers: ReadonlySet<string> = new Set([
  'top_logprobs',
  'max_output_tokens',
  'max_tokens',
  'max_completion_tokens',
  'thinking.budget_tokens',
  'max_tool_calls',
  'dimensions',
  'limit',
]);

export type CreateResponseBody = z.output<typeof createResponseSchema>;
export type FunctionTool = z.output<typeof functionToolSchema>;
export type CustomTool = z.output<typeof customToolSchema>;
export type Tool = FunctionTool | CustomTool;
export type ToolChoice = z.output<typeof ownToolChoiceSchema>;
export type TextFormat = z.output<typeof formatSchema>;
