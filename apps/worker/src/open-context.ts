import type { ContextItem, InputItem } from '@sluice/contract';
import { ProviderError } from '@sluice/providers';
import type { ContentSealer } from '@sluice/response-store/sealed-content';

/** What stands before the summary of a compacted conversation. */
const summaryHeading = 'Summary of the conversation so far:\n\n';

/**
 * Opens what is sealed in the context of a model.
 *
 * Reasoning has its raw text back, and what its upstream gave with it. A compaction becomes a message of the assistant, who
 * wrote the summary: it must not rank above what a user says. The api has opened all of the request itself before; what no
 * longer opens was sealed with a key that has been taken away since. A model does without earlier reasoning, so that is left
 * out. Without its summary a conversation would mean something else, so that fails.
 *
 * @throws {ProviderError} `invalid_prompt` for a compaction that does not open.
 */
export function openContext(items: readonly InputItem[], sealer: ContentSealer): ContextItem[] {
  return items.map((item) => {
    switch (item.type) {
      case 'reasoning':
        return openReasoning(item, sealer);
      case 'compaction':
        return openCompaction(item, sealer);
      default:
        return item;
    }
  });
}

function openReasoning(
  { encrypted_content: sealed, ...item }: Extract<InputItem, { type: 'reasoning' }>,
  sealer: ContentSealer,
): ContextItem {
  const opened = sealed == null ? undefined : sealer.openReasoning(sealed);
  if (!opened) return item;
  const { text, opaque } = opened;
  return {
    ...item,
    ...(text !== '' && { content: [{ type: 'reasoning_text', text }] }),
    ...(opaque && { opaque }),
  };
}

function openCompaction(
  { encrypted_content: sealed }: Extract<InputItem, { type: 'compaction' }>,
  sealer: ContentSealer,
): ContextItem {
  const summary = sealer.openCompaction(sealed);
  if (summary === undefined) {
    throw new ProviderError('invalid_prompt', 'A compaction of the context does not open', {
      disposition: 'fail',
      publicMessage: 'A compaction in the context was sealed with a key that this server no longer has.',
      param: 'input',
    });
  }
  const text = `${summaryHeading}${summary}`;
  return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] };
}
