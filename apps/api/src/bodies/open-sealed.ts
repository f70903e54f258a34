import { estimateTokens, type InputItem, ServiceError } from '@sluice/contract';
import { ContentSealer, type SealingKey } from '@sluice/response-store/sealed-content';

/** The keys for the sealed content of a request: plain data that a thread can be sent. */
export interface Sealing {
  /** The keys of the service; none before it has started. */
  keys: readonly SealingKey[];
  tenant: string;
}

/**
 * Opens every sealed item of an input, as a worker does again when it calls the model. Nobody waits in a queue for what
 * cannot be read.
 *
 * @returns about how many tokens were sealed.
 * @throws {ServiceError} `invalid_encrypted_content` that names the first item which this service did not seal for the tenant.
 */
export function openSealedItems(input: readonly InputItem[], { keys, tenant }: Sealing): number {
  const sealer = new ContentSealer(keys, tenant);
  let tokens = 0;
  for (const [index, item] of input.entries()) {
    if (item.type !== 'reasoning' && item.type !== 'compaction') continue;
    const { encrypted_content: sealed } = item;
    if (sealed == null) continue;
    if (keys.length === 0) throw new ServiceError('server_is_overloaded');
    const text =
      item.type === 'compaction' ? sealer.openCompaction(sealed) : sealer.openReasoning(sealed)?.text;
    if (text === undefined) {
      const param = `input[${index}].encrypted_content`;
      throw new ServiceError('invalid_encrypted_content', { param });
    }
    tokens += estimateTokens(text);
  }
  return tokens;
}
