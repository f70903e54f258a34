import type { SamplingRequest } from '@sluice/contract';
import { ProviderError } from './provider.ts';

/**
 * Refuses a request for sampling that an upstream does not have: an answer that ignored it would not be what was asked for.
 *
 * @throws {ProviderError} `invalid_prompt` for the first member that is there.
 */
export function refuseSampling(request: SamplingRequest, providerId: string): void {
  const param = request.stop !== undefined ? 'stop' : request.seed !== undefined ? 'seed' : undefined;
  if (param === undefined) return;
  throw new ProviderError('invalid_prompt', `Provider '${providerId}' has no '${param}'.`, {
    disposition: 'fail',
    param,
    publicMessage: `The model server does not take '${param}'.`,
  });
}
