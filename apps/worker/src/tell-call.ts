import { type FinishReason, ProviderError } from '@sluice/providers';
import type { Telemetry } from '@sluice/runtime';
import { about, type Attempt } from './attempt.ts';
import type { ModelRoute } from './model-routes.ts';
import { readableReason } from './upstream-reason.ts';

interface TellDependencies {
  telemetry: Telemetry;
  /** For durations, in milliseconds. */
  now: () => number;
}

/** A call that telemetry is told of. */
export interface ToldCall {
  route: ModelRoute;
  /** By the clock for durations; undefined when the call itself had succeeded. */
  calledAt: number | undefined;
}

/** Tells that an upstream has given its whole answer. */
export function tellAnswer(
  { telemetry, now }: TellDependencies,
  { record, assembler }: Attempt,
  { route, calledAt = now() }: ToldCall,
  finishReason: FinishReason,
): void {
  const { usage } = assembler;
  telemetry.emit('attempt.answered', {
    ...about(record),
    provider: route.provider.id,
    upstreamModel: route.model,
    sinceCallMs: now() - calledAt,
    finishReason,
    usage: usage
      ? {
          inputTokens: usage.input_tokens,
          cachedTokens: usage.input_tokens_details.cached_tokens,
          outputTokens: usage.output_tokens,
          reasoningTokens: usage.output_tokens_details.reasoning_tokens,
        }
      : undefined,
  });
}

/** Tells that a call failed, or that none could be made. Returns the failure. */
export function tellFailure(
  { telemetry, now }: TellDependencies,
  { record, generation }: Attempt,
  call: ToldCall | undefined,
  error: unknown,
): ProviderError {
  const known =
    error instanceof ProviderError
      ? error
      : new ProviderError('server_error', 'An attempt failed for a reason of our own', {
          disposition: 'retry',
          cause: error,
        });
  const { code, upstreamStatus, upstreamRequestId } = known;
  telemetry.emit('attempt.failed', {
    ...about(record),
    provider: call?.route.provider.id,
    upstreamModel: call?.route.model,
    sinceCallMs: call?.calledAt === undefined ? undefined : now() - call.calledAt,
    code,
    upstreamStatus,
    upstreamRequestId,
    reason: readableReason(known.upstreamWords, generation),
    error: known,
  });
  return known;
}
