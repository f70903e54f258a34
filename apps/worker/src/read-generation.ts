import type { Generation } from '@sluice/contract';
import { ProviderError } from '@sluice/providers';
import type { ResponseContext } from '@sluice/response-store';
import { isRedisUnavailable, pause } from '@sluice/runtime';
import type { ContentSealer } from '@sluice/response-store/sealed-content';
import type { Attempt } from './attempt.ts';
import type { AttemptFailure } from './conclude-attempt.ts';
import { openContext } from './open-context.ts';
import { placeBreakpoints } from './place-breakpoints.ts';
import type { ResponseLog } from './response-log.ts';
import { truncateContext } from './truncate-context.ts';

/** The pause between two tries to read from a silent store, in milliseconds. */
const readAgainMs = 250;

export interface ReadGenerationDependencies {
  log: Pick<ResponseLog, 'readContext'>;
  /** Returns what opens the sealed content of a tenant. */
  sealerOf: (tenant: string) => ContentSealer;
  /** How many tokens the context of a model holds; undefined where only its upstream knows. */
  contextTokensOf: (model: string) => number | undefined;
  /** How long the store may be silent, in milliseconds. */
  outageMs: number;
  /** For durations, in milliseconds. */
  now: () => number;
}

/**
 * Reads the request to a model: the input with everything that it continues from, opened, and cut to the context of the
 * model where the client wants that.
 *
 * @throws {ProviderError} when the context is gone, or does not fit.
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
  const { request } = record;
  const whole = openContext([...context.items, ...record.input], dependencies.sealerOf(record.tenant));
  const contextTokens =
    request.truncation === 'auto' ? dependencies.contextTokensOf(request.model) : undefined;
  const input =
    contextTokens === undefined ? whole : truncateContext({ ...request, input: whole }, contextTokens);
  return {
    ...request,
    input,
    ...placeBreakpoints(request, { whole, before: context.items.length, kept: input }),
    ...mostOutput(record),
  };
}

/** A request without a limit of its output has the limit of its model and tenant. */
function mostOutput({ request, mostOutputTokens }: Attempt['record']): Partial<Generation> {
  const hasNone = request.embedding !== undefined || mostOutputTokens === undefined;
  if (request.max_output_tokens !== undefined || hasNone) return {};
  return { max_output_tokens: mostOutputTokens };
}

/** Reads the context of a response as soon as the store answers. Rejects when it is silent for too long. */
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
