import { z } from 'zod';

/** The elements of a response's `output`: what a model produced. */

const annotationSchema = z.looseObject({ type: z.string() });
const logprobSchema = z.object({
  token: z.string(),
  logprob: z.number(),
  bytes: z.array(z.int()),
  top_logprobs: z.array(z.object({ token: z.string(), logprob: z.number(), bytes: z.array(z.int()) })),
});

const outputTextSchema = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(annotationSchema),
  logprobs: z.array(logprobSchema),
});
const refusalSchema = z.object({ type: z.literal('refusal'), refusal: z.string() });
const reasoningTextSchema = z.object({ type: z.literal('reasoning_text'), text: z.string() });

export const messagePartSchema = z.discriminatedUnion('type', [outputTextSchema, refusalSchema]);
/** A part of a message or of a reasoning item, as `content_part` events carry it. */
export const contentPartSchema = z.discriminatedUnion('type', [
  outputTextSchema,
  refusalSchema,
  reasoningTextSchema,
]);
export const summaryPartSchema = z.object({ type: z.literal('summary_text'), text: z.string() });

const itemStatus = z.enum(['in_progress', 'completed', 'incomplete']);

const messageItemSchema = z.object({
  type: z.literal('message'),
  id: z.string(),
  status: itemStatus,
  role: z.literal('assistant'),
  content: z.array(messagePartSchema),
  phase: z.enum(['commentary', 'final_answer']).optional(),
});
const functionCallItemSchema = z.object({
  type: z.literal('function_call'),
  id: z.string(),
  status: itemStatus,
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
});
const customToolCallItemSchema = z.object({
  type: z.literal('custom_tool_call'),
  id: z.string(),
  status: itemStatus,
  call_id: z.string(),
  name: z.string(),
  input: z.string(),
});
const reasoningItemSchema = z.object({
  type: z.literal('reasoning'),
  id: z.string(),
  status: itemStatus.optional(),
  summary: z.array(summaryPartSchema),
  content: z.array(reasoningTextSchema).optional(),
  encrypted_content: z.string().optional(),
});

export const outputItemSchema = z.discriminatedUnion('type', [
  messageItemSchema,
  functionCallItemSchema,
  customToolCallItemSchema,
  reasoningItemSchema,
]);

export type OutputItem = z.output<typeof outputItemSchema>;
export type MessageItem = z.output<typeof messageItemSchema>;
export type FunctionCallItem = z.output<typeof functionCallItemSchema>;
export type CustomToolCallItem = z.output<typeof customToolCallItemSchema>;
export type ReasoningItem = z.output<typeof reasoningItemSchema>;
export type ContentPart = z.output<typeof contentPartSchema>;
export type SummaryPart = z.output<typeof summaryPartSchema>;
export type Logprob = z.output<typeof logprobSchema>;
export type Annotation = z.output<typeof annotationSchema>;
export { annotationSchema, logprobSchema };

export const usageSchema = z.object({
  input_tokens: z.int(),
  input_tokens_details: z.object({ cached_tokens: z.int(), cache_write_tokens: z.int() }),
  output_tokens: z.int(),
  output_tokens_details: z.object({ reasoning_tokens: z.int() }),
  total_tokens: z.int(),
});

export type Usage = z.output<typeof usageSchema>;

/** The usage of so many tokens of input and of output. What a cache had or took is input, and reasoning is output. */
export function countedUsage(
  input: number,
  output: number,
  { cached = 0, written = 0, reasoning = 0 } = {},
): Usage {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

/** Whether an item is a call of one of the client's tools, of either kind. */
export function isToolCall(item: OutputItem): item is FunctionCallItem | CustomToolCallItem {
  return item.type === 'function_call' || item.type === 'custom_tool_call';
}

/** Joins the text of all messages, in order. SDKs call it `output_text`. */
export function outputText(output: readonly OutputItem[]): string {
  let text = '';
  for (const item of output) {
    if (item.type !== 'message') continue;
    for (const part of item.content) if (part.type === 'output_text') text += part.text;
  }
  return text;
}
