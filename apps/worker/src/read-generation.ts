import type { Generation } from '@sluice/contract';
import { ProviderError } from '@sluice/providers';
import type { ResponseContext } from '@sluice/response-store';
import { isRedisUnavailable, pause } from '@sluice/runtime';
import type { Attempt } from './attempt.ts';
import type { AttemptFailure } from './conclude-attempt.ts';
import type { ResponseLog } from './response-log.ts';

/** Between two tries to read from a store that is silent, in milliseconds. */
const readAgainMs = 250;

export interface ReadGenerationDependencies {
  log: Pick<ResponseLog, 'readContext'>;
  /** How long the store may be silent, in milliseconds. */
  outageMs: number;
  /** For durations, in milliseconds. */
  now: () => number;
}

/**
 * What the model is to be asked for: the request, with all that it continues from.
 *
 * @throws {ProviderError} when that is gone, or too large.
 */
export async function readGeneration(
  dependencies: ReadGenerationDependencies,
  attempt: Attempt,
): Promise<Generation> {
  const { record } = attempt;
  const context = await readContext(dependencies, attempt);
  if (context.kind === 'broken') {
    throw finalFailure('previous_response_not_found', `Response ${context.missingId} is gone`);
  }
  if (context.kind === 'too_large') {
    throw finalFailure('context_length_exceeded', `What response ${record.id} continues from is too large`);
  }
  return {
    ...record.request,
    input: [...context.items, ...record.input],
    ...mostOutput(record),
  };
}

/** A request that names no limit of its output has that of its model and tenant. */
function mostOutput({ request, mostOutputTokens }: Attempt['record']): Partial<Generation> {
  if (request.max_output_tokens !== undefined || mostOutputTokens === undefined) return {};
  return { max_output_tokens: mostOutputTokens };
}

/** What a response continues from, as soon as the store answers. Rejects when it is silent for too long. */
async function readContext(
  { log, now, outageMs }: ReadGenerationDependencies,
  { record, signal }: Attempt,
): Promise<ResponseContext> {
  for (const giveUpAt = now() + outageMs; ; ) {
    try {
      return await log.readContext(record);
    } catch (error) {
      if (!isRedisUnavailable(error) || now() >= giveUpAt) throw error;
      await pause(readAgainMs, signal);
      signal.throwIfAborted();
    }
  }
}

/** A failure that another attempt would meet again. */
export function finalFailure(code: AttemptFailure['code'], message: string): ProviderError {
  return new ProviderError(code, message, { disposition: 'fail' });
}
