import {
  type Annotation,
  errorEnvelopeSchema,
  isToolCall,
  logprobSchema,
  type OutputItem,
  type Response,
  type ResponseEnd,
  type Usage,
} from '@sluice/contract';
import { z } from 'zod';
import { betweenReasoning, reasoningTexts, refuseCancelled, suffixOf } from '../response-facts.ts';
import { toolCall } from './chat-schema.ts';

/** The reasons for which a chat completion ends. */
const finishReasons = ['stop', 'length', 'tool_calls', 'content_filter'] as const;
export type FinishReason = (typeof finishReasons)[number];

const usageSchema = z.object({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  prompt_tokens_details: z.object({ cached_tokens: z.int() }),
  completion_tokens_details: z.object({ reasoning_tokens: z.int() }),
});

const annotationSchema = z.object({
  type: z.literal('url_citation'),
  url_citation: z.looseObject({ url: z.string() }),
});
const logprobsSchema = z.object({ content: z.array(logprobSchema), refusal: z.null() }).nullable();
type ChatToolCall = z.output<typeof toolCall>;

const head = { id: z.string(), created: z.int(), model: z.string(), service_tier: z.string() };

export const chatCompletionSchema = z.object({
  ...head,
  object: z.literal('chat.completion'),
  choices: z.array(
    z.object({
      index: z.literal(0),
      message: z.object({
        role: z.literal('assistant'),
        content: z.string().nullable(),
        refusal: z.string().nullable(),
        annotations: z.array(annotationSchema),
        reasoning_content: z.string().exactOptional(),
        tool_calls: z.array(toolCall).exactOptional(),
      }),
      logprobs: logprobsSchema,
      finish_reason: z.enum(finishReasons),
    }),
  ),
  usage: usageSchema.nullable(),
});
export type ChatCompletion = z.output<typeof chatCompletionSchema>;

export const chatChunkSchema = z.object({
  ...head,
  object: z.literal('chat.completion.chunk'),
  choices: z.array(
    z.object({
      index: z.literal(0),
      delta: z.looseObject({}),
      logprobs: logprobsSchema,
      finish_reason: z.enum(finishReasons).nullable(),
    }),
  ),
  usage: usageSchema.nullable().exactOptional(),
});

/** The data of a frame of a stream: a chunk, or the error that ends it. */
export const chatFrameSchema = z.union([chatChunkSchema, errorEnvelopeSchema]);

/** The members that come first, and are the same in each chunk of a completion. */
export function headOf<ObjectName extends string>(
  { id, created_at: created, model, service_tier }: Response,
  object: ObjectName,
) {
  return { id: `chatcmpl-${suffixOf(id)}`, object, created, model, service_tier };
}

/**
 * A response as the chat completion that asked for it. Texts stay as they are, also marks that stand for long ones.
 *
 * @throws {ServiceError} for one that somebody else has cancelled.
 */
export function chatCompletionOf(response: Response): ChatCompletion {
  const { output } = response;
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []));
  const texts = parts.flatMap((part) => (part.type === 'output_text' ? [part] : []));
  const refusals = parts.flatMap((part) => (part.type === 'refusal' ? [part.refusal] : []));
  const logprobs = texts.flatMap((part) => part.logprobs);
  const reasoning = output
    .flatMap((item) => (item.type === 'reasoning' ? reasoningTexts(item) : []))
    .join(betweenReasoning);
  const calls = output.filter(isToolCall).map(toolCallOf);
  return {
    ...headOf(response, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: texts.length === 0 ? null : texts.map(({ text }) => text).join(''),
          refusal: refusals.length === 0 ? null : refusals.join(''),
          annotations: texts.flatMap((part) => part.annotations.flatMap(annotationOf)),
          ...(reasoning !== '' && { reasoning_content: reasoning }),
          ...(calls.length > 0 && { tool_calls: calls }),
        },
        logprobs: logprobs.length === 0 ? null : { content: logprobs, refusal: null },
        finish_reason: finishReasonOf(response),
      },
    ],
    usage: response.usage && usageOf(response.usage),
  };
}

function toolCallOf(call: Extract<OutputItem, { call_id: string }>): ChatToolCall {
  const { call_id: id, name } = call;
  return call.type === 'function_call'
    ? { id, type: 'function', function: { name, arguments: call.arguments } }
    : { id, type: 'custom', custom: { name, input: call.input } };
}

/** A citation of a page, which is the one kind of annotation that a chat completion has. */
export function annotationOf({
  type,
  ...citation
}: Annotation): ChatCompletion['choices'][0]['message']['annotations'] {
  // Upstreams give it so; the schema of an annotation says nothing of its members.
  if (type !== 'url_citation' || typeof citation['url'] !== 'string') return [];
  return [{ type, url_citation: { ...citation, url: citation['url'] } }];
}

/**
 * Why a completion has ended.
 *
 * @throws {ServiceError} for a response that was cancelled: there is no word for that.
 */
export function finishReasonOf(
  end: Pick<ResponseEnd, 'status' | 'incomplete_details' | 'output'>,
): FinishReason {
  refuseCancelled(end);
  const { incomplete_details: details, output } = end;
  if (details?.reason === 'content_filter') return 'content_filter';
  if (details) return 'length';
  return output.some(isToolCall) ? 'tool_calls' : 'stop';
}

export function usageOf({
  input_tokens,
  output_tokens,
  total_tokens,
  input_tokens_details: { cached_tokens },
  output_tokens_details: { reasoning_tokens },
}: Usage): z.output<typeof usageSchema> {
  return {
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens,
    prompt_tokens_details: { cached_tokens },
    completion_tokens_details: { reasoning_tokens },
  };
}
