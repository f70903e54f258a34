import type { Generation, InputPart } from '@sluice/contract';
import { type CacheMark, type CacheMarks, type ItemMarks, itemMark, partMark } from '../cache-marks.ts';
import { type JsonObject, present } from '../json-fields.ts';
import { ProviderError } from '../provider.ts';
import { asDataUrl } from '../upstream/file-data.ts';
import { checkMediaUrl, type MediaPolicy } from '../upstream/media-policy.ts';
import { markedTexts, plainText, splitOutput } from './plain-content.ts';
import { type PromptItem, type PromptMessage, promptItems } from './prompt-items.ts';

export interface ChatMessageOptions extends MediaPolicy {
  /** The member of an assistant's message that holds its reasoning; undefined for upstreams that are given none. */
  reasoningField?: 'reasoning' | 'reasoning_content' | undefined;
  /** The marks of the request, for an upstream that has a place for them. Texts stay apart then; see `markedTexts`. */
  marks?: CacheMarks | undefined;
}

/** One message with the outputs of its calls, which must follow it directly. */
interface Turn {
  message: JsonObject;
  outputs: JsonObject[];
  /** Media of those outputs. Tool messages hold text alone, so a message of the user carries the media. */
  media: JsonObject[];
  /** The list under `tool_calls` of the message, once it has any. */
  calls?: JsonObject[];
  /** The list under `content` of the message, where texts stay apart. */
  texts?: JsonObject[];
}

/**
 * The messages: the instructions first, then the input.
 *
 * System and developer messages at the start are merged with the instructions, because many chat templates refuse a
 * second system message. Consecutive texts and calls of the assistant become one message. The outputs of its calls
 * follow it directly, wherever they stood in the input.
 */
export function chatMessages(
  generation: Pick<Generation, 'instructions' | 'input'>,
  policy: ChatMessageOptions,
): JsonObject[] {
  const turns: Turn[] = [];
  const callers = new Map<string, Turn>();
  const { marks } = policy;
  if (generation.instructions) addSystem(turns, generation.instructions, undefined, policy);
  for (const item of promptItems(generation, { marks })) addItem(item, turns, callers, policy);
  const messages: JsonObject[] = [];
  for (const { message, outputs, media } of turns) {
    if (isEmpty(message)) continue;
    messages.push(message);
    // One by one: as arguments of one call, hundreds of thousands do not fit the stack.
    for (const output of outputs) messages.push(output);
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
  policy: ChatMessageOptions,
): void {
  switch (item.type) {
    case 'message':
      return addMessage(item, turns, policy);
    case 'function_call': {
      const turn = assistantTurn(turns);
      turn.message['tool_calls'] = turn.calls ??= [];
      const { call_id: id, name, arguments: args } = item;
      const call = { id, type: 'function', function: { name, arguments: args } };
      turn.calls.push({ ...call, ...markedBy(itemMark(item.marks)) });
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
      const marked = markedBy(itemMark(item.marks));
      const output = { role: 'tool', tool_call_id: item.call_id, content: text };
      const last = media.pop();
      turn.outputs.push({ ...output, ...(!last && marked) });
      if (last) {
        const heading = { type: 'text', text: `Attached to the output of ${item.call_id}:` };
        turn.media.push(heading);
        for (const part of media) turn.media.push(part);
        turn.media.push({ ...last, ...marked });
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
  { reasoningField: field }: ChatMessageOptions,
): void {
  const text = (content ?? []).map((part) => part.text).join('');
  if (field === undefined || text === '') return;
  const { message } = assistantTurn(turns);
  const before = message[field];
  message[field] = typeof before === 'string' ? `${before}\n\n${text}` : text;
}

function addMessage(
  message: PromptMessage & { marks?: ItemMarks },
  turns: Turn[],
  policy: ChatMessageOptions,
): void {
  const { content, marks } = message;
  if (message.role === 'user') {
    turns.push(newTurn({ role: 'user', content: userContent(content, marks, policy) }));
  } else if (message.role === 'assistant') {
    addTexts(assistantTurn(turns), content, marks, policy);
  } else {
    addSystem(turns, content, marks, policy);
  }
}

function addSystem(
  turns: Turn[],
  content: PromptMessage['content'],
  marks: ItemMarks | undefined,
  policy: ChatMessageOptions,
): void {
  const opening = turns.length === 1 ? turns[0] : undefined;
  if (opening?.message['role'] === 'system') return addTexts(opening, content, marks, policy);
  const turn = newTurn({ role: 'system', content: null });
  addTexts(turn, content, marks, policy);
  if (turn.message['content'] !== null) turns.push(turn);
}

/** Adds to the content of a message: to its text, or to its parts, each with its mark. It stays null without any. */
function addTexts(
  turn: Turn,
  content: PromptMessage['content'],
  marks: ItemMarks | undefined,
  policy: ChatMessageOptions,
): void {
  const { message } = turn;
  if (!policy.marks) {
    const before = message['content'];
    const text = plainText(content);
    message['content'] = typeof before === 'string' ? `${before}\n\n${text}` : text;
    return;
  }
  for (const { text, mark } of markedTexts(content, marks)) {
    message['content'] = turn.texts ??= [];
    turn.texts.push({ type: 'text', text, ...markedBy(mark) });
  }
}

/** The member that marks a part, a tool, a call or the output of one. */
export function markedBy(mark: CacheMark | undefined): { cache_control?: CacheMark } {
  return mark ? { cache_control: mark } : {};
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

/** A single text is sent as a string, which every server accepts, unless it has a mark. */
function userContent(
  content: string | readonly InputPart[],
  marks: ItemMarks | undefined,
  policy: MediaPolicy,
): string | JsonObject[] {
  const parts = typeof content === 'string' ? [{ type: 'input_text' as const, text: content }] : content;
  const [first] = parts;
  const mark = (at: number) => partMark(marks, at, { of: parts.length });
  if (parts.length === 1 && first?.type === 'input_text' && !mark(0)) return first.text;
  return parts.map((part, at) => ({ ...chatPart(part, policy), ...markedBy(mark(at)) }));
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
