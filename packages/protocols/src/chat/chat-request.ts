import { ServiceError } from '@sluice/contract';
import { cachingOf, type MarkAt, markAt } from '../cache-marks.ts';
import { checkedRequest, membersOfBody, type Translated, type TranslationOptions } from '../members.ts';
import { inputOf } from './chat-input.ts';
import { type ChatParams, asChatError } from './chat-params.ts';
import {
  type ChatNamedTool,
  type ChatRequestBody,
  chatRequestSchema,
  type ChatResponseFormat,
  type ChatTool,
  type ChatToolChoice,
} from './chat-schema.ts';

/** How a chat completion is to be delivered, which is no part of its response. */
export interface ChatDelivery {
  /** Whether a stream ends with a chunk that has the usage. */
  includesUsage: boolean;
}

/**
 * Parses the body of a chat completion into the request of a response.
 *
 * Only the first problem is reported, with the member of the chat completion that it is about. What has no place in a response is
 * refused. A response that nobody asks to keep is not kept: a chat completion is not read again, unless its caller has sent a key
 * with which it `canReturn`.
 *
 * @throws {ServiceError} with a code whose status is 400.
 */
export function parseChatRequest(
  body: unknown,
  { canReturn = false, ...options }: TranslationOptions = {},
): Translated<ChatDelivery> {
  const chat = membersOfBody(body, chatRequestSchema, ['model', 'messages']);
  checkTogether(chat);
  const { items: input, paths, marks } = inputOf(chat.messages);
  const params: ChatParams = { paths, tools: chat.tools?.map(({ type }) => type) ?? [] };
  const named = (error: ServiceError) => asChatError(error, params);
  const members = { ...membersOf(chat), store: chat.store ?? canReturn, input };
  const request = checkedRequest(members, options, named);
  const besides = { ...besidesOf(chat), ...cachingOf([...toolMarks(chat), ...marks]) };
  return { request: { ...request, ...besides }, delivery: deliveryOf(chat), named };
}

function checkTogether(chat: ChatRequestBody) {
  const { logprobs, top_logprobs: top, max_tokens, max_completion_tokens, reasoning_effort: effort } = chat;
  const other = effortIn(chat.reasoning);
  if (effort && other && effort !== other) {
    throw new ServiceError('invalid_value', "'reasoning' and 'reasoning_effort' say different things.", {
      param: 'reasoning',
    });
  }
  if (top !== undefined && logprobs !== true) {
    throw new ServiceError('invalid_value', "'top_logprobs' needs 'logprobs' to be true.", {
      param: 'top_logprobs',
    });
  }
  if (max_tokens !== undefined && max_completion_tokens !== undefined) {
    throw new ServiceError(
      'invalid_value',
      "'max_tokens' and 'max_completion_tokens' cannot be used together.",
      { param: 'max_tokens' },
    );
  }
}

/** Members that a response has under the same name, and of the same form. */
const sameMembers = [
  'model',
  'stream',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'parallel_tool_calls',
  'metadata',
  'service_tier',
  'prompt_cache_key',
  'safety_identifier',
  'user',
] as const satisfies (keyof ChatRequestBody)[];

/** The members of the response that are checked as such. */
function membersOf(chat: ChatRequestBody): Record<string, unknown> {
  const { verbosity, response_format: format, stream_options: streaming } = chat;
  const effort = chat.reasoning_effort ?? effortIn(chat.reasoning);
  return {
    ...Object.fromEntries(sameMembers.map((name) => [name, chat[name]])),
    stream_options: streaming && { include_obfuscation: streaming.include_obfuscation },
    ...(chat.logprobs === true && {
      include: ['message.output_text.logprobs'],
      top_logprobs: chat.top_logprobs ?? 0,
    }),
    tools: chat.tools?.map(toolOf),
    tool_choice: chat.tool_choice && choiceOf(chat.tool_choice),
    ...((format ?? verbosity) && { text: { format: format && formatOf(format), verbosity } }),
    ...(effort && { reasoning: { effort } }),
  };
}

/** Members that a request of a response does not have, or has with other bounds. */
function besidesOf({ stop, seed, max_tokens, max_completion_tokens }: ChatRequestBody) {
  const most = max_completion_tokens ?? max_tokens;
  return {
    ...(most !== undefined && { max_output_tokens: most }),
    ...(stop !== undefined && stop.length > 0 && { stop: [stop].flat() }),
    ...(seed !== undefined && { seed }),
  };
}

/** How much OpenRouter's `reasoning` asks for. One that is on without an effort has a medium one there. */
function effortIn({ effort, enabled }: NonNullable<ChatRequestBody['reasoning']> = {}) {
  if (effort) return effort;
  return enabled === true ? 'medium' : enabled === false ? 'none' : undefined;
}

function deliveryOf({ stream_options: options }: ChatRequestBody): ChatDelivery {
  return { includesUsage: options?.include_usage === true };
}

/** LiteLLM takes a mark beside a function and in it. */
function toolMarks({ tools = [] }: ChatRequestBody): MarkAt[] {
  return tools.flatMap((each, index) => {
    const inside = each.type === 'function' ? each.function.cache_control : undefined;
    const path = `tools[${index}]`;
    const [mark] = [
      ...markAt({ at: 'tool', index }, each.cache_control, path),
      ...markAt({ at: 'tool', index }, inside, `${path}.function`),
    ];
    return mark ? [mark] : [];
  });
}

function toolOf(each: ChatTool): Record<string, unknown> {
  if (each.type === 'function') {
    const { name, description, parameters, strict } = each.function;
    return { type: 'function', name, description, parameters, strict };
  }
  const { format, ...rest } = each.custom;
  return { type: 'custom', ...rest, ...(format && { format: customFormatOf(format) }) };
}

function customFormatOf(
  format: NonNullable<Extract<ChatTool, { type: 'custom' }>['custom']['format']>,
): unknown {
  return format.type === 'text' ? format : { type: 'grammar', ...format.grammar };
}

function choiceOf(choice: ChatToolChoice): unknown {
  if (typeof choice === 'string') return choice;
  if (choice.type !== 'allowed_tools') return nameOf(choice);
  const { mode, tools } = choice.allowed_tools;
  return { type: 'allowed_tools', mode, tools: tools.map(nameOf) };
}

function nameOf(each: ChatNamedTool): { type: string; name: string } {
  return { type: each.type, name: each.type === 'function' ? each.function.name : each.custom.name };
}

function formatOf(format: ChatResponseFormat): unknown {
  if (format.type !== 'json_schema') return format;
  const { schema, ...rest } = format.json_schema;
  return { type: 'json_schema', ...rest, schema: schema ?? {} };
}
