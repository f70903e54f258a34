import {
  openToolOutputs,
  type OutputItem,
  outputAsInput,
  tokensOfBytes,
  type ToolItem,
} from '@sluice/contract';
import { bytesOf, type InputLink, type PreparedRequest, toolLinkOf } from '@sluice/response-store';
import { contextTooLarge } from './resolve-references.ts';

/** The part of a conversation that the store does not have: everything since the last response that it has. */
export interface LocalContext {
  /** The stored response before the items. */
  previousId: string | undefined;
  /** Items of earlier inputs and outputs, oldest first: a list in JSON. */
  items: Buffer;
  /** The tool calls among the items, and the outputs whose calls are before them. */
  links: ToolItem[];
  /** About as many tokens as the items have. */
  tokens: number;
}

/** The items that a request adds to the context of those that continue from it. */
export type OwnContext = Pick<PreparedRequest, 'previousId' | 'input' | 'links' | 'inputTokens'>;

/** The context for requests that continue from this one: everything that it continues from itself, its input and its output. */
export function contextAfter(prepared: OwnContext, output: readonly OutputItem[]): LocalContext {
  const answered = output.map(outputAsInput);
  const added = Buffer.from(JSON.stringify(answered));
  const links = [...prepared.links.filter(isToolItem), ...answered.flatMap((item) => toolLinkOf(item) ?? [])];
  const open = openToolOutputs(links);
  return {
    previousId: prepared.previousId,
    items: joined(bytesOf(prepared.input), added),
    links: links.filter(({ type, call_id: callId }) => isCall(type) || open.has(callId ?? '')),
    tokens: prepared.inputTokens + tokensOfBytes(added.length),
  };
}

/**
 * The request with its context in front of its input. The response that it names is still the one that its caller knows; the
 * store is told of the one before the context.
 *
 * @throws {ServiceError} `context_length_exceeded` when both together are more than a response may continue from.
 */
export function behindContext(
  prepared: PreparedRequest,
  context: LocalContext,
  { contextBytes }: { contextBytes: number },
): PreparedRequest {
  if (context.items.length > contextBytes) throw contextTooLarge(contextBytes);
  return {
    ...prepared,
    previousId: context.previousId,
    input: joined(context.items, bytesOf(prepared.input)),
    inputTokens: context.tokens + prepared.inputTokens,
    links: [...context.links, ...prepared.links],
  };
}

/** One list in JSON of two. */
function joined(first: Buffer, second: Buffer): Buffer {
  if (first.length <= '[]'.length) return second;
  if (second.length <= '[]'.length) return first;
  return Buffer.concat([first.subarray(0, -1), Buffer.from(','), second.subarray(1)]);
}

function isCall(type: ToolItem['type']): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

function isToolItem(link: InputLink): link is ToolItem {
  return link.type !== 'item_reference';
}
