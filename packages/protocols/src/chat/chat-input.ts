import type { ChatMessage, ChatPart } from './chat-schema.ts';

/** An item of the input, before it is checked. */
type UncheckedItem = Record<string, unknown> & { type: string };

export interface ChatInput {
  items: UncheckedItem[];
  /** The member of the request that each item was made of. */
  paths: string[];
}

/** The messages as items, in their order. One of the assistant may be its reasoning, its text and its calls. */
export function inputOf(messages: readonly ChatMessage[]): ChatInput {
  const input: ChatInput = { items: [], paths: [] };
  for (const [at, message] of messages.entries()) {
    const path = `messages[${at}]`;
    const add = (item: UncheckedItem, below = '') => {
      input.items.push(item);
      input.paths.push(`${path}${below}`);
    };
    if (message.role === 'assistant') addAssistant(message, add);
    else if (message.role === 'tool') {
      const { tool_call_id: callId, content } = message;
      add({ type: outputType(callId, input), call_id: callId, output: partsOf(content) });
    } else add({ type: 'message', role: message.role, content: partsOf(message.content) });
  }
  return input;
}

function addAssistant(
  message: Extract<ChatMessage, { role: 'assistant' }>,
  add: (item: UncheckedItem, below?: string) => void,
): void {
  const { content, refusal, tool_calls: calls } = message;
  const reasoning = message.reasoning_content ?? message.reasoning;
  if (reasoning != null && reasoning !== '') {
    const text = { type: 'reasoning_text', text: reasoning };
    add(
      { type: 'reasoning', summary: [], content: [text] },
      message.reasoning_content == null ? '.reasoning' : '.reasoning_content',
    );
  }
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? []);
  const said = [
    ...parts
      .filter((part) => part.type === 'refusal' || part.text !== '')
      .map((part) => (part.type === 'text' ? { type: 'output_text', text: part.text } : part)),
    ...(refusal == null || refusal === '' ? [] : [{ type: 'refusal', refusal }]),
  ];
  if (said.length > 0) add({ type: 'message', role: 'assistant', content: said });
  for (const [at, call] of (calls ?? []).entries()) {
    const below = `.tool_calls[${at}]`;
    if (call.type === 'function') add({ type: 'function_call', call_id: call.id, ...call.function }, below);
    else add({ type: 'custom_tool_call', call_id: call.id, ...call.custom }, below);
  }
}

/** A message of a tool does not say of which kind the call was. */
function outputType(callId: string, { items }: ChatInput): string {
  const call = items.findLast((item) => item['call_id'] === callId && item.type.endsWith('_call'));
  return call?.type === 'custom_tool_call' ? 'custom_tool_call_output' : 'function_call_output';
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
