import type { ContextItem, InputItem } from '@sluice/contract';
import { ProviderError } from '@sluice/providers';
import type { ContentSealer } from '@sluice/response-store/sealed-content';

/** The heading of the summary of a compacted conversation. */
const summaryHeading = 'Summary of the conversation so far:\n\n';

/**
 * Opens what is sealed in the context of a model.
 *
 * Reasoning gets its raw text back, and the data of its upstream. A compaction becomes a message of the assistant, who wrote
 * the summary: it must not rank above a message of the user. The api has opened all of the request before, so content that
 * does not open was sealed with a key that was removed since. Reasoning that does not open is left out, because a model can
 * do without it. A compaction that does not open is an error: without its summary the conversation would mean something
 * else.
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
