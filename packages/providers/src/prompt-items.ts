import type { FunctionCallOutputItem, Generation, InputItem, InputMessage } from '@sluice/contract';

type ReasoningInput = Extract<InputItem, { type: 'reasoning' }>;

/** An item a model can be shown, without the ids and statuses that only mean something to this service. */
export type PromptItem =
  | PromptMessage
  | { type: 'function_call'; call_id: string; name: string; arguments: string }
  | { type: 'function_call_output'; call_id: string; output: FunctionCallOutputItem['output'] }
  | ReasoningInput;

export type PromptMessage = InputMessage extends infer Message
  ? Message extends InputMessage
    ? Omit<Message, 'id' | 'status'>
    : never
  : never;

/**
 * The input as every upstream can take it, in order.
 *
 * Calls of custom tools become function calls, as custom tools themselves are not passed on. An output that
 * names no call, or whose call is not in the input, becomes a message of the user, because upstreams refuse an
 * output without a call. Items of hosted tools are left out.
 */
export function promptItems(generation: Pick<Generation, 'input'>): PromptItem[] {
  const called = new Set<string>();
  const items: PromptItem[] = [];
  for (const item of generation.input) {
    switch (item.type) {
      case 'message': {
        const { id: _id, status: _status, ...message } = item;
        // Taking members out of a union loses which member of it this is; every other member is kept.
        items.push(message as PromptMessage);
        break;
      }
      case 'function_call':
        called.add(item.call_id);
        items.push({
          type: 'function_call',
          call_id: item.call_id,
          name: item.name,
          arguments: item.arguments,
        });
        break;
      case 'custom_tool_call':
        called.add(item.call_id);
        items.push({
          type: 'function_call',
          call_id: item.call_id,
          name: item.name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64),
          arguments: JSON.stringify({ input: item.input }),
        });
        break;
      case 'function_call_output':
        items.push(outputItem(item.call_id, item.name, item.output, called));
        break;
      case 'custom_tool_call_output':
        items.push(outputItem(item.call_id, undefined, item.output, called));
        break;
      case 'reasoning':
        items.push(item);
        break;
      default:
        break;
    }
  }
  return items;
}

function outputItem(
  callId: string | null | undefined,
  name: string | null | undefined,
  output: FunctionCallOutputItem['output'],
  called: ReadonlySet<string>,
): PromptItem {
  if (callId != null && called.has(callId)) return { type: 'function_call_output', call_id: callId, output };
  const heading = name == null ? 'Output of a tool:' : `Output of the tool '${name}':`;
  const parts = typeof output === 'string' ? [{ type: 'input_text' as const, text: output }] : output;
  return {
    type: 'message',
    role: 'user',
    content: [
      { type: 'input_text', text: heading },
      ...parts.map((part) =>
        // A message carries no video. Nothing of it could be used, so the model is told that it was there.
        part.type === 'input_video' ? { type: 'input_text' as const, text: '[video]' } : part,
      ),
    ],
  };
}
