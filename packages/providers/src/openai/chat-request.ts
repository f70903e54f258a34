import { echoFormat, effectiveEffort, type Generation, type InputPart, type Tool } from '@sluice/contract';
import { callableTools } from '../allowed-calls.ts';
import { customAsFunction } from './custom-tools.ts';
import { type JsonObject, present } from '../json-fields.ts';
import { wantsLogprobs } from './logprob-fields.ts';
import { asDataUrl } from '../upstream/file-data.ts';
import { checkMediaUrl, type MediaPolicy } from '../upstream/media-policy.ts';
import { plainText, splitOutput } from './plain-content.ts';
import { type PromptItem, type PromptMessage, promptItems } from './prompt-items.ts';
import { ProviderError } from '../provider.ts';

export interface ChatRequestOptions extends MediaPolicy {
  /** Reasoning models of OpenAI refuse `max_tokens`; many other servers accept nothing else. */
  maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** Whether to send members that only OpenAI's own service is known to accept. */
  isOpenAi: boolean;
  /** The member of an assistant's message that holds its reasoning; undefined for upstreams that are given none. */
  reasoningField?: 'reasoning' | 'reasoning_content' | undefined;
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
  return present({
    model,
    messages: chatMessages(generation, options),
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
    ...toolMembers(generation),
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
function toolMembers(generation: Generation): JsonObject {
  const given = generation.tools ?? [];
  if (given.length === 0) return {};
  const { tools, demand } = callableTools(generation);
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

function chatTool(tool: Tool): JsonObject {
  const { name, description, parameters, strict } = tool.type === 'custom' ? customAsFunction(tool) : tool;
  return { type: 'function', function: present({ name, description, parameters, strict }) };
}

/** One message with the outputs of its calls, which must follow it directly. */
interface Turn {
  message: JsonObject;
  outputs: JsonObject[];
  /** Media of those outputs. Tool messages hold text alone, so a message of the user carries the media. */
  media: JsonObject[];
}

/**
 * The messages: the instructions first, then the input.
 *
 * System and developer messages at the start are merged with the instructions, because many chat templates refuse a
 * second system message. Consecutive texts and calls of the assistant become one message. The outputs of its calls
 * follow it directly, wherever they stood in the input.
 */
function chatMessages(generation: Generation, policy: ChatRequestOptions): JsonObject[] {
  const turns: Turn[] = [];
  const callers = new Map<string, Turn>();
  if (generation.instructions) addSystem(turns, generation.instructions);
  for (const item of promptItems(generation)) addItem(item, turns, callers, policy);
  const messages: JsonObject[] = [];
  for (const { message, outputs, media } of turns) {
    if (isEmpty(message)) continue;
    messages.push(message, ...outputs);
    if (media.length > 0) messages.push({ role: 'user', content: media });
  }
  return messages;
}

/** Reasoning with nothing behind it, which upstreams refuse as a message. */
function isEmpty({ role, content, tool_calls: calls }: JsonObject): boolean {
  return role === 'assistant' && content === null && calls === undefined;
}

function addItem(
  item: PromptItem,
  turns: Turn[],
  callers: Map<string, Turn>,
  policy: ChatRequestOptions,
): void {
  switch (item.type) {
    case 'message':
      return addMessage(item, turns, policy);
    case 'function_call': {
      const turn = assistantTurn(turns);
      const calls = Array.isArray(turn.message['tool_calls']) ? turn.message['tool_calls'] : [];
      const { call_id: id, name, arguments: args } = item;
      turn.message['tool_calls'] = [...calls, { id, type: 'function', function: { name, arguments: args } }];
      callers.set(id, turn);
      return;
    }
    case 'custom_tool_call':
      // None is left: see `promptItems`.
      return;
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const turn = callers.get(item.call_id);
      if (!turn) return;
      const { text, media } = splitOutput(item.output, (part) => chatPart(part, policy));
      turn.outputs.push({ role: 'tool', tool_call_id: item.call_id, content: text });
      if (media.length > 0) {
        turn.media.push({ type: 'text', text: `Attached to the output of ${item.call_id}:` }, ...media);
      }
      return;
    }
    case 'reasoning':
      return addReasoning(item, turns, policy);
  }
}

/** The raw text goes with what the assistant said or called next. */
function addReasoning(
  { content }: Extract<PromptItem, { type: 'reasoning' }>,
  turns: Turn[],
  { reasoningField: field }: ChatRequestOptions,
): void {
  const text = (content ?? []).map((part) => part.text).join('');
  if (field === undefined || text === '') return;
  const { message } = assistantTurn(turns);
  const before = message[field];
  message[field] = typeof before === 'string' ? `${before}\n\n${text}` : text;
}

function addMessage(message: PromptMessage, turns: Turn[], policy: MediaPolicy): void {
  if (message.role === 'user') {
    turns.push(newTurn({ role: 'user', content: userContent(message.content, policy) }));
  } else if (message.role === 'assistant') {
    const turn = assistantTurn(turns);
    const text = plainText(message.content);
    const before = turn.message['content'];
    turn.message['content'] = typeof before === 'string' ? `${before}\n\n${text}` : text;
  } else {
    addSystem(turns, plainText(message.content));
  }
}

function addSystem(turns: Turn[], text: string): void {
  const opening = turns.length === 1 ? turns[0]?.message : undefined;
  if (opening?.['role'] === 'system') opening['content'] = `${String(opening['content'])}\n\n${text}`;
  else turns.push(newTurn({ role: 'system', content: text }));
}

/** The assistant's current turn, or a new one: a call after an output belongs to the next turn. */
function assistantTurn(turns: Turn[]): Turn {
  const last = turns.at(-1);
  if (last?.message['role'] === 'assistant' && last.outputs.length === 0) return last;
  const turn = newTurn({ role: 'assistant', content: null });
  turns.push(turn);
  return turn;
}

function newTurn(message: JsonObject): Turn {
  return { message, outputs: [], media: [] };
}

/** A single text is sent as a string, which every server accepts. */
function userContent(content: string | readonly InputPart[], policy: MediaPolicy): string | JsonObject[] {
  if (typeof content === 'string') return content;
  const [first] = content;
  if (content.length === 1 && first?.type === 'input_text') return first.text;
  return content.map((part) => chatPart(part, policy));
}

function chatPart(part: InputPart, policy: MediaPolicy): JsonObject {
  switch (part.type) {
    case 'input_image': {
      const url = part.image_url ?? '';
      checkMediaUrl(url, policy);
      // This API has no `original`; `auto` comes closest.
      const detail = part.detail === 'original' ? 'auto' : part.detail;
      return { type: 'image_url', image_url: present({ url, detail }) };
    }
    case 'input_file': {
      if (part.file_data == null) throw needsFileData(policy);
      const filename = part.filename ?? undefined;
      return { type: 'file', file: present({ filename, file_data: asDataUrl(part.file_data, filename) }) };
    }
    case 'input_video':
      checkMediaUrl(part.video_url, policy);
      return { type: 'video_url', video_url: { url: part.video_url } };
    case 'refusal':
      return { type: 'text', text: part.refusal };
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: part.text };
  }
}

function needsFileData(policy: MediaPolicy): ProviderError {
  return new ProviderError('invalid_prompt', `Provider '${policy.providerId}' takes files as data alone.`, {
    disposition: 'fail',
    param: 'input',
    publicMessage: "The model server takes files as data alone. Send the content as 'file_data'.",
  });
}
