import type { Generation } from '@sluice/contract';
import { ProviderError } from './provider.ts';

/**
 * Refuses a request for embeddings, for a provider that makes none.
 *
 * @throws {ProviderError} `invalid_prompt`, not to be retried.
 */
export function refuseEmbedding({ embedding }: Generation, providerId: string): void {
  if (!embedding) return;
  throw new ProviderError('invalid_prompt', `Provider '${providerId}' makes no embeddings.`, {
    disposition: 'fail',
    param: 'model',
    publicMessage: 'This model makes no embeddings.',
  });
}
