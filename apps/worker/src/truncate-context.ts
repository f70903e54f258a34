import { type ContextItem, estimateInputTokens, estimateItemTokens, type Generation } from '@sluice/contract';
import { ProviderError } from '@sluice/providers';

/**
 * Leaves out the oldest items of a context until the estimate of its tokens fits. The order of the others stays.
 *
 * Messages of the system and the developer stay, and so does the last item, which the model is to answer. A tool call is left
 * out together with its outputs, because upstreams refuse one without the other.
 *
 * @throws {ProviderError} `context_length_exceeded` when the items that must stay are too long by themselves.
 */
export function truncateContext(
  prompt: Pick<Generation, 'input' | 'instructions' | 'tools'>,
  contextTokens: number,
): ContextItem[] {
  const { input } = prompt;
  let tokens = estimateInputTokens(prompt);
  if (tokens <= contextTokens) return input;
  const groups = groupsOf(input);
  const dropped = new Set<number>();
  const ofLast = groups.at(-1);
  for (const [index, item] of input.entries()) {
    if (tokens <= contextTokens) break;
    if (dropped.has(index) || mustStay(item)) continue;
    const group = groups[index] ?? [index];
    // A group is one list for all its members, so none of them looks through the others.
    if (group === ofLast) continue;
    for (const each of group) {
      const member = input[each];
      if (member) tokens -= estimateItemTokens(member);
      dropped.add(each);
    }
  }
  if (tokens <= contextTokens) return input.filter((_item, index) => !dropped.has(index));
  throw new ProviderError('context_length_exceeded', 'What has to stay of the context does not fit', {
    disposition: 'fail',
    publicMessage: `What cannot be left out of the input has about ${tokens} tokens; the context of this model holds ${contextTokens}.`,
    param: 'input',
  });
}

function mustStay(item: ContextItem): boolean {
  return item.type === 'message' && (item.role === 'system' || item.role === 'developer');
}

/** Where the items are that go together with each item, which is among them: a tool call and its outputs. Upstreams that count their calls use an id again in each turn. */
function groupsOf(input: readonly ContextItem[]): number[][] {
  const latest = new Map<string, number[]>();
  return input.map((item, index) => {
    const callId = callIdOf(item);
    if (callId === undefined) return [index];
    const known = isCall(item) ? undefined : latest.get(callId);
    const group = known ?? [];
    group.push(index);
    latest.set(callId, group);
    return group;
  });
}

function isCall({ type }: ContextItem): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

function callIdOf(item: ContextItem): string | undefined {
  switch (item.type) {
    case 'function_call':
    case 'custom_tool_call':
      return item.call_id;
    case 'function_call_output':
    case 'custom_tool_call_output':
      return item.call_id ?? undefined;
    default:
      return undefined;
  }
}
