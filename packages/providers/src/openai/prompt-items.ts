import type {
  ContextItem,
  FunctionCallOutputItem,
  Generation,
  InputItem,
  InputMessage,
} from '@sluice/contract';

type ReasoningInput = Extract<ContextItem, { type: 'reasoning' }>;

/** An item for a model, without the ids and statuses that have a meaning only in this service. */
export type PromptItem =
  | PromptMessage
  | { type: 'function_call'; call_id: string; name: string; arguments: string }
  | { type: 'custom_tool_call'; call_id: string; name: string; input: string }
  | { type: ToolOutput['type']; call_id: string; output: FunctionCallOutputItem['output'] }
  | ReasoningInput;

export type PromptMessage = InputMessage extends infer Message
  ? Message extends InputMessage
    ? Omit<Message, 'id' | 'status'>
    : never
  : never;

/**
 * The input in a form that an upstream accepts, in order.
 *
 * Calls of custom tools become function calls for an upstream that is not given custom tools. An output without its call in
 * the input becomes a message of the user, because upstreams refuse it otherwise. Items of hosted tools are left out.
 */
export function promptItems(
  generation: Pick<Generation, 'input'>,
  { withCustomTools = false }: { withCustomTools?: boolean } = {},
): PromptItem[] {
  const called = new Map<string, ToolOutput['type']>();
  const items: PromptItem[] = [];
  for (const item of generation.input) {
    if (item.type === 'message') {
      const { id: _id, status: _status, ...message } = item;
      items.push(message);
    } else if (item.type === 'function_call') {
      const { type, call_id, name, arguments: args } = item;
      called.set(call_id, 'function_call_output');
      items.push({ type, call_id, name, arguments: args });
    } else if (item.type === 'custom_tool_call') {
      const { type, call_id, name, input } = item;
      called.set(call_id, withCustomTools ? 'custom_tool_call_output' : 'function_call_output');
      items.push(withCustomTools ? { type, call_id, name, input } : functionCall(item));
    } else if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') {
      items.push(outputItem(item, called));
    } else if (item.type === 'reasoning') {
      items.push(item);
    }
  }
  return items;
}

type CustomCall = Extract<InputItem, { type: 'custom_tool_call' }>;
type ToolOutput = Extract<InputItem, { type: 'function_call_output' | 'custom_tool_call_output' }>;

/** Custom tools may have names that functions must not have, and their input is not JSON. */
function functionCall({ call_id, name, input }: CustomCall): PromptItem {
  return {
    type: 'function_call',
    call_id,
    name: name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64),
    arguments: JSON.stringify({ input }),
  };
}

function outputItem(item: ToolOutput, called: ReadonlyMap<string, ToolOutput['type']>): PromptItem {
  const { call_id: callId, output } = item;
  const type = callId == null ? undefined : called.get(callId);
  if (callId != null && type) return { type, call_id: callId, output };
  const name = 'name' in item ? item.name : undefined;
  const heading = name == null ? 'Output of a tool:' : `Output of the tool '${name}':`;
  const parts = typeof output === 'string' ? [{ type: 'input_text' as const, text: output }] : output;
  return {
    type: 'message',
    role: 'user',
    content: [
      { type: 'input_text', text: heading },
      ...parts.map((part) =>
        // A message cannot hold a video, so a text takes its place.
        part.type === 'input_video' ? { type: 'input_text' as const, text: '[video]' } : part,
      ),
    ],
  };
}
