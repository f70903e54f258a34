import { createResponseSchema, jsonObjectSchema } from '@sluice/contract';
import { z } from 'zod';
import { cacheControl } from '../cache-marks.ts';
import { unsupported } from '../members.ts';

/**
 * The request of a message, as Anthropic's API reference has it. Members of a form that the Responses API has, too, are checked by
 * that; here is what they look like. A `cache_control` may stand at every block but those of thoughts, at every tool, and at the whole.
 */

const marked = { cache_control: cacheControl };

const textBlock = z.object({ type: z.literal('text'), text: z.string(), ...marked });
const imageBlock = z.object({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.object({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
    z.object({ type: z.literal('url'), url: z.string() }),
  ]),
  ...marked,
});
const documentBlock = z.object({
  type: z.literal('document'),
  source: z.discriminatedUnion('type', [
    z.object({ type: z.literal('base64'), media_type: z.literal('application/pdf'), data: z.string() }),
    z.object({ type: z.literal('text'), media_type: z.literal('text/plain'), data: z.string() }),
    z.object({
      type: z.literal('content'),
      content: z.union([z.string(), z.array(z.discriminatedUnion('type', [textBlock, imageBlock]))]),
    }),
    z.object({ type: z.literal('url'), url: z.string() }),
  ]),
  title: z.string().nullish(),
  context: z.string().nullish(),
  citations: z
    .object({
      enabled: z
        .boolean()
        .refine((isEnabled) => !isEnabled, { params: { code: 'unsupported_parameter' } })
        .nullish(),
    })
    .nullish(),
  ...marked,
});
const mediaBlock = z.discriminatedUnion('type', [textBlock, imageBlock, documentBlock]);

const userBlock = z.discriminatedUnion('type', [
  ...mediaBlock.options,
  z.object({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    content: z.union([z.string(), z.array(mediaBlock)]).nullish(),
    is_error: z.boolean().nullish(),
    ...marked,
  }),
]);
const assistantBlock = z.discriminatedUnion('type', [
  textBlock,
  z.object({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() }),
  z.object({ type: z.literal('redacted_thinking'), data: z.string() }),
  z.object({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: jsonObjectSchema,
    ...marked,
  }),
]);

const textContent = z.union([z.string(), z.array(textBlock)]);
const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('user'), content: z.union([z.string(), z.array(userBlock)]) }),
  z.object({ role: z.literal('assistant'), content: z.union([z.string(), z.array(assistantBlock)]) }),
  z.object({ role: z.literal('system'), content: textContent }),
]);

/** A tool of the client. Those that Anthropic runs, or has described to its models, have another type. */
const tool = z.object({
  type: z
    .string()
    .refine((type) => type === 'custom', {
      params: { code: 'unsupported_tool', message: "Only tools of the type 'custom' are taken here." },
    })
    .nullish(),
  name: z.string(),
  description: z.string().nullish(),
  input_schema: jsonObjectSchema,
  strict: z.boolean().nullish(),
  ...marked,
});

const single = { disable_parallel_tool_use: z.boolean().nullish() };
const toolChoice = z.discriminatedUnion('type', [
  z.object({ type: z.literal('auto'), ...single }),
  z.object({ type: z.literal('any'), ...single }),
  z.object({ type: z.literal('tool'), name: z.string(), ...single }),
  z.object({ type: z.literal('none') }),
]);

const display = z.enum(['summarized', 'omitted']).nullish();
const thinking = z.discriminatedUnion('type', [
  z.object({ type: z.literal('enabled'), budget_tokens: z.int().min(1024), display }),
  z.object({ type: z.literal('adaptive'), display }),
  z.object({ type: z.literal('disabled') }),
]);

/** Edits of the context that leave it as it is. Claude Code sends them with every request. */
function changesNothing(management: unknown): boolean {
  const edits = z
    .object({ edits: z.array(z.object({ type: z.string(), keep: z.unknown() })).nullish() })
    .safeParse(management);
  if (!edits.success) return false;
  return (edits.data.edits ?? []).every(
    ({ type, keep }) => type === 'clear_thinking_20251015' && keep === 'all',
  );
}

const responses = createResponseSchema.shape;

export const countMessageTokensSchema = z.object({
  model: responses.model,
  system: textContent.optional(),
  messages: z.array(message).min(1).max(4096),
  tools: z.array(tool).max(128).optional(),
  tool_choice: toolChoice.optional(),
  thinking: thinking.optional(),
  output_config: z
    .object({
      effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(),
      format: z.object({ type: z.literal('json_schema'), schema: jsonObjectSchema }).nullish(),
    })
    .optional(),
  context_management: z
    .unknown()
    .refine(changesNothing, { params: { code: 'unsupported_parameter' } })
    .optional(),
  mcp_servers: unsupported,
  /** The same as at the last block. */
  cache_control: cacheControl,
});

export const messageRequestSchema = countMessageTokensSchema.extend({
  max_tokens: z.int().min(1),
  stream: responses.stream,
  temperature: z.number().min(0).max(1).optional(),
  top_p: responses.top_p,
  stop_sequences: z.array(z.string().min(1)).max(16).optional(),
  metadata: z.object({ user_id: z.string().nullish() }).optional(),
  service_tier: z.enum(['auto', 'standard_only']).optional(),
  top_k: unsupported,
  container: unsupported,
  thread: unsupported,
  inference_geo: unsupported,
  output_format: unsupported,
});

export type MessageRequestBody = z.output<typeof messageRequestSchema>;
export type Message = z.output<typeof message>;
export type MediaBlock = z.output<typeof mediaBlock>;
export type UserBlock = z.output<typeof userBlock>;
export type AssistantBlock = z.output<typeof assistantBlock>;
export type DocumentBlock = z.output<typeof documentBlock>;
export type ImageBlock = z.output<typeof imageBlock>;
export type ToolResult = Extract<UserBlock, { type: 'tool_result' }>;
