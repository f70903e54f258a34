import { isToolCall, type OutputItem, type Response, type ResponseEnd, type Usage } from '@sluice/contract';
import { z } from 'zod';
import { betweenReasoning, reasoningTexts, refuseCancelled, suffixOf } from '../response-facts.ts';
import { messageErrorSchema } from './message-params.ts';
import type { MessageDelivery } from './message-request.ts';
import { isObjectJson } from './object-scan.ts';

/** The reasons for which a message ends. `stop_sequence` is told where the upstream has said which it was, and is `end_turn` otherwise. */
const stopReasons = ['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal'] as const;
export type StopReason = (typeof stopReasons)[number];

const usageSchema = z.object({
  /** Without those that were read from a cache or written to it. */
  input_tokens: z.int(),
  cache_creation_input_tokens: z.int(),
  cache_read_input_tokens: z.int(),
  output_tokens: z.int(),
  output_tokens_details: z.object({ thinking_tokens: z.int() }),
});
type MessageUsage = z.output<typeof usageSchema>;

const blockSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string(), citations: z.null() }),
  z.object({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() }),
  z.object({ type: z.literal('redacted_thinking'), data: z.string() }),
  z.object({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
  }),
]);
export type ContentBlock = z.output<typeof blockSchema>;

export const messageSchema = z.object({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(blockSchema),
  stop_reason: z.enum(stopReasons).nullable(),
  stop_sequence: z.string().nullable(),
  usage: usageSchema.extend({ service_tier: z.enum(['standard', 'priority']) }),
});
export type MessageBody = z.output<typeof messageSchema>;

export const messageTokensSchema = z.object({ input_tokens: z.int() });

/** A message of which nothing is known but that it was accepted. */
export function emptyMessage({ id, model, service_tier: tier, usage }: Response): MessageBody {
  return {
    id: `msg_${suffixOf(id)}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usageOf(usage), service_tier: tier === 'priority' ? 'priority' : 'standard' },
  };
}

/** The JSON of the object that the arguments of a call are, to be put into an answer as it is; undefined if they are none. */
export type ObjectOf = (args: string) => string | undefined;

/**
 * The JSON of the message that asked for a response. Texts stay as they are, also marks that stand for long ones. The input of a tool is an
 * object, which is not parsed: `objectOf` finds it, and the message has it as the model wrote it, with every digit of its numbers.
 *
 * @throws {ServiceError} for one that somebody else has cancelled.
 */
export function messageJson(
  response: Response,
  { thinking }: MessageDelivery,
  objectOf: ObjectOf = argumentsObject,
): string {
  const { content: _, stop_reason: __, stop_sequence: ___, usage, ...head } = emptyMessage(response);
  const blocks = response.output.flatMap((item) => blocksOf(item, thinking, objectOf));
  const end = { ...stopOf(response), usage };
  return `${open(head)},"content":[${blocks.join(',')}],${JSON.stringify(end).slice(1)}`;
}

/** The JSON of an object without its closing brace. */
function open(value: object): string {
  return JSON.stringify(value).slice(0, -1);
}

/** The JSON of each block. Empty texts are left out: no protocol takes them back. */
function blocksOf(item: OutputItem, thinking: MessageDelivery['thinking'], objectOf: ObjectOf): string[] {
  switch (item.type) {
    case 'message':
      return item.content
        .map((part) => (part.type === 'output_text' ? part.text : part.refusal))
        .filter((text) => text !== '')
        .map((text) => JSON.stringify({ type: 'text', text, citations: null } satisfies ContentBlock));
    case 'reasoning':
      return thinkingOf(item, thinking).map((block) => JSON.stringify(block));
    case 'function_call': {
      const { input: _, ...call } = toolUseOf(item);
      return [`${open(call)},"input":${inputJson(item.arguments, objectOf)}}`];
    }
    case 'custom_tool_call':
      // No request of a message has a custom tool.
      return [];
  }
}

type Reasoning = Extract<OutputItem, { type: 'reasoning' }>;

function thinkingOf(item: Reasoning, thinking: MessageDelivery['thinking']): ContentBlock[] {
  const { encrypted_content: sealed = '' } = item;
  if (thinking === 'none') return [];
  if (thinking === 'omitted')
    return sealed === '' ? [] : [{ type: 'thinking', thinking: '', signature: sealed }];
  const text = reasoningTexts(item).join(betweenReasoning);
  if (text !== '') return [{ type: 'thinking', thinking: text, signature: sealed }];
  return sealed === '' ? [] : [{ type: 'redacted_thinking', data: sealed }];
}

export function toolUseOf({ call_id: id, name }: { call_id: string; name: string }) {
  return { type: 'tool_use' as const, id, name, input: {} };
}

/** The input must be an object. A call that was cut off has none, and its text takes the place. */
function inputJson(args: string, objectOf: ObjectOf): string {
  return args.trim() === '' ? '{}' : (objectOf(args) ?? JSON.stringify({ input: args }));
}

/** Finds the object in arguments that are short. */
export function argumentsObject(args: string): string | undefined {
  return isObjectJson(args) ? args : undefined;
}

/** How a message has ended, in two members of it. */
export interface Stop {
  stop_reason: StopReason;
  /** The text among `stop_sequences` for which it ended; null for any other reason. */
  stop_sequence: string | null;
}

type KnownEnd = Pick<ResponseEnd, 'status' | 'incomplete_details' | 'output' | 'stop_sequence'>;

/**
 * Why a message has ended.
 *
 * @throws {ServiceError} for a response that was cancelled: there is no word for that.
 */
export function stopOf(end: KnownEnd): Stop {
  refuseCancelled(end);
  const reason = stopReasonOf(end);
  return {
    stop_reason: reason,
    stop_sequence: reason === 'stop_sequence' ? (end.stop_sequence ?? null) : null,
  };
}

function stopReasonOf({ incomplete_details: details, output, stop_sequence: before }: KnownEnd): StopReason {
  if (details) return details.reason === 'content_filter' ? 'refusal' : 'max_tokens';
  if (output.some((item) => item.type === 'message' && item.content.some(({ type }) => type === 'refusal'))) {
    return 'refusal';
  }
  if (output.some(isToolCall)) return 'tool_use';
  return before === undefined ? 'end_turn' : 'stop_sequence';
}

export function usageOf(usage: Usage | null): MessageUsage {
  const { cached_tokens: read = 0, cache_write_tokens: written = 0 } = usage?.input_tokens_details ?? {};
  return {
    input_tokens: Math.max(0, (usage?.input_tokens ?? 0) - read - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens: usage?.output_tokens ?? 0,
    output_tokens_details: { thinking_tokens: usage?.output_tokens_details.reasoning_tokens ?? 0 },
  };
}

const inBlock = { index: z.int() };
/** The data of a frame of a stream. An error is the last one. */
export const messageFrameSchema = z.union([
  z.object({ type: z.literal('message_start'), message: messageSchema }),
  z.object({ type: z.literal('content_block_start'), ...inBlock, content_block: blockSchema }),
  z.object({
    type: z.literal('content_block_delta'),
    ...inBlock,
    delta: z.discriminatedUnion('type', [
      z.object({ type: z.literal('text_delta'), text: z.string() }),
      z.object({ type: z.literal('thinking_delta'), thinking: z.string() }),
      z.object({ type: z.literal('signature_delta'), signature: z.string() }),
      z.object({ type: z.literal('input_json_delta'), partial_json: z.string() }),
    ]),
  }),
  z.object({ type: z.literal('content_block_stop'), ...inBlock }),
  z.object({
    type: z.literal('message_delta'),
    delta: z.object({ stop_reason: z.enum(stopReasons), stop_sequence: z.string().nullable() }),
    usage: usageSchema,
  }),
  z.object({ type: z.literal('message_stop') }),
  z.object({ type: z.literal('ping') }),
  messageErrorSchema,
]);
export type MessageFrame = z.output<typeof messageFrameSchema>;
