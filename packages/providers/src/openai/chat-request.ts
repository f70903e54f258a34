import { echoFormat, effectiveEffort, type Generation, type Tool } from '@sluice/contract';
import { callableTools } from '../allowed-calls.ts';
import { type CacheMark, cacheMarks, type CacheMarks } from '../cache-marks.ts';
import { type ChatMessageOptions, chatMessages, markedBy } from './chat-messages.ts';
import { customAsFunction } from './custom-tools.ts';
import { type JsonObject, present } from '../json-fields.ts';
import { wantsLogprobs } from './logprob-fields.ts';

export interface ChatRequestOptions extends Omit<ChatMessageOptions, 'marks'> {
  /** Reasoning models of OpenAI refuse `max_tokens`; many other servers accept nothing else. */
  maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** Whether to send members that only OpenAI's own service is known to accept. */
  isOpenAi: boolean;
  /** Whether marks for caches are sent. Servers other than gateways to Anthropic may refuse them. Default: false. */
  takesCacheMarks?: boolean | undefined;
}

/**
 * Turns a generation into the body of a chat completion request.
 *
 * Sampling members are sent only if the client set them, so that the upstream's own defaults apply. `text.verbosity` goes to OpenAI
 * alone, since other servers refuse it. The API has no counterpart of `truncation`, which is left out.
 *
 * @throws {ProviderError} `invalid_prompt` for media that this upstream must not be given or does not support.
 */
export function chatRequestBody(
  generation: Generation,
  model: string,
  options: ChatRequestOptions,
): JsonObject {
  const logprobs = wantsLogprobs(generation);
  const marks = options.takesCacheMarks === true ? cacheMarks(generation) : undefined;
  return present({
    model,
    messages: chatMessages(generation, { ...options, marks }),
    stream: true,
    stream_options: { include_usage: true },
    [options.maxTokensField]: generation.max_output_tokens,
    temperature: generation.temperature,
    top_p: generation.top_p,
    presence_penalty: generation.presence_penalty,
    frequency_penalty: generation.frequency_penalty,
    stop: generation.stop,
    seed: generation.seed,
    logprobs: logprobs ? true : undefined,
    top_logprobs: logprobs ? generation.top_logprobs || undefined : undefined,
    response_format: responseFormat(generation),
    reasoning_effort: effectiveEffort(generation.reasoning?.effort),
    verbosity: options.isOpenAi ? generation.text?.verbosity : undefined,
    ...toolMembers(generation, marks),
    user: generation.user,
    prompt_cache_key: options.isOpenAi ? generation.prompt_cache_key : undefined,
    safety_identifier: options.isOpenAi ? generation.safety_identifier : undefined,
  });
}

function responseFormat({ text }: Generation): JsonObject | undefined {
  const format = echoFormat(text?.format);
  if (format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'json_object' };
  const { name, description, schema, strict } = format;
  return { type: 'json_schema', json_schema: present({ name, description, schema, strict }) };
}

/** The API has no `allowed_tools`. Only the tools of the set are sent, and its mode becomes `tool_choice`. */
function toolMembers(generation: Generation, marks: CacheMarks | undefined): JsonObject {
  const given = generation.tools ?? [];
  if (given.length === 0) return {};
  const { tools, demand } = callableTools(generation);
  const chatTool = (tool: Tool) => toolOf(tool, marks?.tools.get(given.indexOf(tool)));
  if (demand === 'none') return { tools: given.map(chatTool), tool_choice: 'none' };
  const choice = generation.tool_choice;
  const named = typeof choice === 'object' && choice.type !== 'allowed_tools';
  return {
    // A named tool is sent with all the others, so that the model still knows every tool.
    tools: (named ? given : tools).map(chatTool),
    ...(choice !== undefined && {
      tool_choice: named ? { type: 'function', function: { name: choice.name } } : demand,
    }),
    ...(generation.parallel_tool_calls !== undefined && {
      parallel_tool_calls: generation.parallel_tool_calls,
    }),
  };
}

function toolOf(tool: Tool, mark: CacheMark | undefined): JsonObject {
  const { name, description, parameters, strict } = tool.type === 'custom' ? customAsFunction(tool) : tool;
  const called = present({ name, description, parameters, strict });
  return { type: 'function', function: called, ...markedBy(mark) };
}
