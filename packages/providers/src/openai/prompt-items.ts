import type {
  ContextItem,
  FunctionCallOutputItem,
  Generation,
  InputItem,
  InputMessage,
} from '@sluice/contract';
import { type CacheMarks, type ItemMarks, shiftedMarks } from '../cache-marks.ts';

type ReasoningInput = Extract<ContextItem, { type: 'reasoning' }>;

/**
 * An item for a model, without the ids and statuses that have a meaning only in this service. It has marks where its provider has a place for
 * them.
 */
export type PromptItem = UnmarkedItem & { marks?: ItemMarks };

type UnmarkedItem =
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
 * the input becomes a message of the user, because upstreams refuse it otherwise. Items of hosted tools are left out. The items have the
 * `marks` that are given.
 */
export function promptItems(
  generation: Pick<Generation, 'input'>,
  { withCustomTools = false, marks }: { withCustomTools?: boolean; marks?: CacheMarks | undefined } = {},
): PromptItem[] {
  const called = new Map<string, ToolOutput['type']>();
  const items: PromptItem[] = [];
  for (const [index, item] of generation.input.entries()) {
    const made = promptItem(item, called, withCustomTools);
    if (!made) continue;
    const given = marks?.items.get(index);
    const isOwnMessage = made.type === 'message' && item.type !== 'message';
    // Such a message begins with a heading.
    items.push(given ? { ...made, marks: isOwnMessage ? shiftedMarks(given, 1) : given } : made);
  }
  return items;
}

/** The item of an item; undefined for one that no upstream is given. */
function promptItem(
  item: ContextItem,
  called: Map<string, ToolOutput['type']>,
  withCustomTools: boolean,
): UnmarkedItem | undefined {
  switch (item.type) {
    case 'message': {
      const { id: _id, status: _status, ...message } = item;
      return message;
    }
    case 'function_call': {
      const { type, call_id, name, arguments: args } = item;
      called.set(call_id, 'function_call_output');
      return { type, call_id, name, arguments: args };
    }
    case 'custom_tool_call': {
      const { type, call_id, name, input } = item;
      called.set(call_id, withCustomTools ? 'custom_tool_call_output' : 'function_call_output');
      return withCustomTools ? { type, call_id, name, input } : functionCall(item);
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return outputItem(item, called);
    case 'reasoning':
      return item;
    default:
      return undefined;
  }
}

type CustomCall = Extract<InputItem, { type: 'custom_tool_call' }>;
type ToolOutput = Extract<InputItem, { type: 'function_call_output' | 'custom_tool_call_output' }>;

/** Custom tools may have names that functions must not have, and their input is not JSON. */
function functionCall({ call_id, name, input }: CustomCall): UnmarkedItem {
  return {
    type: 'function_call',
    call_id,
    name: name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64),
    arguments: JSON.stringify({ input }),
  };
}

function outputItem(item: ToolOutput, called: ReadonlyMap<string, ToolOutput['type']>): UnmarkedItem {
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
