import type { Usage } from '@sluice/contract';
import type { FinishReason, ProviderChunk } from '../provider.ts';
import { brokenStream } from '../upstream/failure.ts';

export interface AnswerEnd {
  finish: FinishReason | undefined;
  usage: Usage | undefined;
  stopSequence?: string | undefined;
}

/**
 * The chunks that are known only at the end of an answer.
 *
 * @throws {ProviderError} when the model never said that it finished.
 */
export function endOfAnswer(providerId: string, { finish, usage, stopSequence }: AnswerEnd): ProviderChunk[] {
  if (finish === undefined) throw brokenStream(providerId, 'ended its stream without finishing');
  const isStopped = finish === 'stop' && stopSequence !== undefined;
  return [
    ...(usage ? [{ type: 'usage' as const, usage }] : []),
    { type: 'finish', reason: finish, ...(isStopped && { stopSequence }) },
  ];
}

/** The text among `stop` before which an upstream says that it stopped; undefined for anything else that it may say. */
export function stopSequenceIn(stop: readonly string[] | undefined, told: unknown): string | undefined {
  return stop?.find((text) => text === told);
}
