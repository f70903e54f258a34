import { type CacheControl, type MarkAt, markAt } from '../cache-marks.ts';
import type { ChatMessage, ChatPart } from './chat-schema.ts';

/** An item of the input, before it is checked. */
type UncheckedItem = Record<string, unknown> & { type: string };

export interface ChatInput {
  items: UncheckedItem[];
  /** The member of the request that each item was made of. */
  paths: string[];
  /** Marks for caches, in their order. */
  marks: MarkAt[];
}

/** A mark of an item; of one part of it, if it says so. `below` is the member of the message that has it. */
interface ItemMark {
  control: CacheControl;
  part?: number;
  below: string;
}

/** Adds an item that was made of the member `below` its message. */
type AddItem = (item: UncheckedItem, facts?: { below?: string; marks?: readonly ItemMark[] }) => void;

/** The type of the latest call with each id. */
type CallTypes = Map<unknown, string>;

/** The messages as items, in their order. One of the assistant may be its reasoning, its text and its calls. */
export function inputOf(messages: readonly ChatMessage[]): ChatInput {
  const input: ChatInput = { items: [], paths: [], marks: [] };
  const calls: CallTypes = new Map();
  for (const [at, message] of messages.entries()) {
    const path = `messages[${at}]`;
    const mark = ({ control, below, ...place }: ItemMark) =>
      input.marks.push(
        ...markAt({ at: 'input', index: input.items.length - 1, ...place }, control, `${path}${below}`),
      );
    const before = input.items.length;
    addMessage(message, calls, (item, { below = '', marks = [] } = {}) => {
      input.items.push(item);
      if (item.type.endsWith('_call')) calls.set(item['call_id'], item.type);
      input.paths.push(`${path}${below}`);
      for (const each of marks) mark(each);
    });
    if (input.items.length > before) mark({ control: message.cache_control, below: '' });
  }
  return input;
}

function addMessage(message: ChatMessage, calls: CallTypes, add: AddItem): void {
  if (message.role === 'assistant') return addAssistant(message, add);
  const { role, content } = message;
  const marks = marksOf(content);
  if (role === 'tool') {
    const { tool_call_id: callId } = message;
    add({ type: outputType(callId, calls), call_id: callId, output: partsOf(content) }, { marks });
  } else add({ type: 'message', role, content: partsOf(content) }, { marks });
}

function marksOf(content: string | readonly ChatPart[]): ItemMark[] {
  if (typeof content === 'string') return [];
  return content.map((part, at) => ({ control: controlOf(part), part: at, below: `.content[${at}]` }));
}

function controlOf(part: ChatPart): CacheControl {
  return part.type === 'refusal' ? undefined : part.cache_control;
}

function addAssistant(message: Extract<ChatMessage, { role: 'assistant' }>, add: AddItem): void {
  const { content, refusal, tool_calls: calls } = message;
  const reasoning = message.reasoning_content ?? message.reasoning;
  if (reasoning != null && reasoning !== '') {
    const text = { type: 'reasoning_text', text: reasoning };
    const below = message.reasoning_content == null ? '.reasoning' : '.reasoning_content';
    add({ type: 'reasoning', summary: [], content: [text] }, { below });
  }
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? []);
  const kept = parts
    .map((part, at) => ({ part, below: `.content[${at}]` }))
    .filter(({ part }) => part.type === 'refusal' || part.text !== '');
  const said = [
    ...kept.map(({ part }) => (part.type === 'text' ? { type: 'output_text', text: part.text } : part)),
    ...(refusal == null || refusal === '' ? [] : [{ type: 'refusal', refusal }]),
  ];
  const marks = kept.map(({ part, below }, at) => ({ control: controlOf(part), part: at, below }));
  if (said.length > 0) add({ type: 'message', role: 'assistant', content: said }, { marks });
  for (const [at, call] of (calls ?? []).entries()) {
    const below = `.tool_calls[${at}]`;
    const ofCall = { below, marks: [{ control: call.cache_control, below }] };
    if (call.type === 'function') add({ type: 'function_call', call_id: call.id, ...call.function }, ofCall);
    else add({ type: 'custom_tool_call', call_id: call.id, ...call.custom }, ofCall);
  }
}

/** A message of a tool does not say of which kind the call was. */
function outputType(callId: string, calls: CallTypes): string {
  return calls.get(callId) === 'custom_tool_call' ? 'custom_tool_call_output' : 'function_call_output';
}

function partsOf(content: string | readonly ChatPart[]): unknown {
  return typeof content === 'string' ? content : content.map(partOf);
}

function partOf(part: ChatPart): object {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'image_url': {
      const { url, detail } = part.image_url;
      return { type: 'input_image', image_url: url, detail };
    }
    case 'file':
      return { type: 'input_file', ...part.file };
    case 'refusal':
      return part;
  }
}
