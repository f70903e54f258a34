import { refuseSampling } from '../refused-sampling.ts';
import {
  echoFormat,
  effectiveEffort,
  type Generation,
  includesEncryptedReasoning,
  type InputPart,
  type Tool,
} from '@sluice/contract';
import { type JsonObject, present } from '../json-fields.ts';
import { wantsLogprobs } from './logprob-fields.ts';
import { opaqueOrigin, readOpaque } from './opaque-reasoning.ts';
import { checkMediaUrl, type MediaPolicy } from '../upstream/media-policy.ts';
import { type PromptItem, promptItems } from './prompt-items.ts';

export interface ResponsesRequestOptions extends MediaPolicy {
  isOpenAi: boolean;
  providerId: string;
}

/**
 * Turns a generation into the body of a Responses request with `store: false`.
 *
 * Members are sent only if the client set them. Items keep their shape but lose this service's ids, which mean nothing
 * to the upstream. Reasoning is sent with the encrypted content that this upstream gave with it. Without one OpenAI would look
 * for a stored item and refuse the request; other servers take the raw text, where the reasoning has it.
 *
 * @throws {ProviderError} `invalid_prompt` for media that this upstream must not be given.
 */
export function responsesRequestBody(
  generation: Generation,
  model: string,
  options: ResponsesRequestOptions,
): JsonObject {
  refuseSampling(generation, options.providerId);
  const logprobs = wantsLogprobs(generation);
  return present({
    model,
    instructions: generation.instructions,
    input: promptItems(generation, { withCustomTools: hasCustomTools(generation) }).flatMap((item) =>
      inputItem(item, options),
    ),
    stream: true,
    store: false,
    // Obfuscation pads every event. It is meant for the connection to the client; here it only adds bytes.
    stream_options: options.isOpenAi ? { include_obfuscation: false } : undefined,
    ...toolMembers(generation),
    text: textMember(generation),
    reasoning: reasoningMember(generation),
    temperature: generation.temperature,
    top_p: generation.top_p,
    presence_penalty: generation.presence_penalty,
    frequency_penalty: generation.frequency_penalty,
    include: includeMember(generation, logprobs),
    top_logprobs: logprobs ? generation.top_logprobs : undefined,
    max_tool_calls: generation.hosted_tools && generation.max_tool_calls,
    max_output_tokens: generation.max_output_tokens,
    truncation: generation.truncation,
    prompt_cache_key: generation.prompt_cache_key,
    safety_identifier: generation.safety_identifier,
    user: generation.user,
  });
}

function includeMember(generation: Generation, logprobs: boolean): string[] | undefined {
  const wanted = [
    ...(logprobs ? ['message.output_text.logprobs'] : []),
    ...(includesEncryptedReasoning(generation) ? ['reasoning.encrypted_content'] : []),
  ];
  return wanted.length > 0 ? wanted : undefined;
}

function toolMembers({
  tools = [],
  hosted_tools: hosted = [],
  hosted_tool_choice: hostedChoice,
  tool_choice: choice,
  parallel_tool_calls: parallel,
}: Generation): JsonObject {
  if (tools.length + hosted.length === 0) return {};
  const isSet = typeof choice === 'object' && choice.type === 'allowed_tools';
  return {
    tools: [...tools.map(responsesTool), ...hosted],
    tool_choice: hostedChoice ?? (isSet ? { ...choice, mode: choice.mode ?? 'auto' } : choice),
    parallel_tool_calls: parallel,
  };
}

/** Only an upstream that is given custom tools is sure to know them, so their calls in the input depend on that. */
function hasCustomTools({ tools = [] }: Generation): boolean {
  return tools.some(({ type }) => type === 'custom');
}

/** Unlike elsewhere, `null` is kept: it means a tool without parameters, or a schema without a choice of `strict`. */
function responsesTool(tool: Tool): JsonObject {
  if (tool.type === 'custom') return present({ ...tool });
  const { name, description, parameters, strict } = tool;
  return {
    ...present({ type: 'function', name, description }),
    ...(parameters !== undefined && { parameters }),
    ...(strict !== undefined && { strict }),
  };
}

function textMember({ text }: Generation): JsonObject | undefined {
  if (!text) return undefined;
  const format = text.format ? present({ ...echoFormat(text.format) }) : undefined;
  return present({ format, verbosity: text.verbosity });
}

function reasoningMember({ reasoning }: Generation): JsonObject | undefined {
  if (!reasoning) return undefined;
  return present({
    effort: effectiveEffort(reasoning.effort),
    summary: reasoning.summary ?? reasoning.generate_summary,
  });
}

function inputItem(item: PromptItem, policy: ResponsesRequestOptions): JsonObject[] {
  switch (item.type) {
    case 'message': {
      const { role, content } = item;
      const isAssistant = role === 'assistant';
      const parts =
        typeof content === 'string' ? content : content.map((part) => inputPart(part, isAssistant, policy));
      return [
        present({ type: 'message', role, content: parts, phase: isAssistant ? item.phase : undefined }),
      ];
    }
    case 'function_call':
    case 'custom_tool_call':
      return [item];
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const { type, call_id, output } = item;
      const parts =
        typeof output === 'string' ? output : output.map((part) => inputPart(part, false, policy));
      return [{ type, call_id, output: parts }];
    }
    case 'reasoning':
      return reasoningItem(item, policy);
  }
}

function reasoningItem(
  { type, id, summary, content, opaque }: Extract<PromptItem, { type: 'reasoning' }>,
  { providerId, isOpenAi }: ResponsesRequestOptions,
): JsonObject[] {
  const own = readOpaque(opaque, opaqueOrigin(providerId));
  if (own) return [{ type, ...own, summary }];
  const text = (content ?? []).map((part) => part.text).join('');
  if (isOpenAi || text === '') return [];
  // Servers that look at it at all want an id and a single part.
  return [present({ type, id: id ?? 'rs_0', summary, content: [{ type: 'reasoning_text', text }] })];
}

function inputPart(part: InputPart, isAssistant: boolean, policy: MediaPolicy): JsonObject {
  switch (part.type) {
    case 'input_text':
      // Some clients send text of the assistant as `input_text`, which upstreams refuse.
      return { type: isAssistant ? 'output_text' : 'input_text', text: part.text };
    case 'output_text':
      return { type: 'output_text', text: part.text, annotations: part.annotations ?? [] };
    case 'refusal':
      return { type: 'refusal', refusal: part.refusal };
    case 'input_image': {
      const { type, image_url, detail } = part;
      checkMediaUrl(image_url ?? '', policy);
      return present({ type, image_url, detail });
    }
    case 'input_file': {
      const { type, filename, file_data, file_url } = part;
      if (file_url != null) checkMediaUrl(file_url, policy);
      return present({ type, filename, file_data, file_url });
    }
    case 'input_video':
      checkMediaUrl(part.video_url, policy);
      return { type: 'input_video', video_url: part.video_url };
  }
}
