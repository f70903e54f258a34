import type { Usage } from '@sluice/contract';
import type { FinishReason, ProviderChunk } from '../provider.ts';
import { brokenStream } from '../upstream/failure.ts';

/**
 * The chunks that are known only at the end of an answer.
 *
 * @throws {ProviderError} when the model never said that it finished.
 */
export function endOfAnswer(
  providerId: string,
  { finish, usage }: { finish: FinishReason | undefined; usage: Usage | undefined },
): ProviderChunk[] {
  if (finish === undefined) throw brokenStream(providerId, 'ended its stream without finishing');
  return [...(usage ? [{ type: 'usage' as const, usage }] : []), { type: 'finish', reason: finish }];
}
