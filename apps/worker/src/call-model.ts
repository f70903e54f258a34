import { ProviderError } from '@sluice/providers';
import type { ClaimedRecord } from '@sluice/response-store';
import type { Telemetry } from '@sluice/runtime';
import { abortReason } from './abort-reasons.ts';
import { about, type Attempt } from './attempt.ts';
import type { AttemptEnding, AttemptFailure } from './conclude-attempt.ts';
import type { ChooseRoute } from './model-routes.ts';
import { type OutputLimits, OutputMeter } from './output-meter.ts';
import type { ResponseLog } from './response-log.ts';
import { chunksPerSlice, type TurnBudget } from './turn-budget.ts';

export interface CallModelDependencies {
  log: Pick<ResponseLog, 'readContext'>;
  chooseRoute: ChooseRoute;
  outputLimits: OutputLimits;
  telemetry: Telemetry;
  /** Shared by all attempts of the process. */
  turns: TurnBudget;
  /** For durations, in milliseconds. */
  now: () => number;
}

/** Calls the model and writes what it says. Every way in which that can end is a value. */
export async function callModel(
  dependencies: CallModelDependencies,
  attempt: Attempt,
): Promise<AttemptEnding> {
  try {
    await stream(dependencies, attempt);
    if (attempt.signal.aborted) return { kind: 'aborted', reason: abortReason(attempt.signal) };
    const { finish } = attempt.assembler;
    if (finish !== undefined) return { kind: 'finished', reason: finish };
    throw new ProviderError('upstream_error', 'The stream ended without saying that it finished', {
      disposition: 'retry',
    });
  } catch (error) {
    if (attempt.signal.aborted) return { kind: 'aborted', reason: abortReason(attempt.signal) };
    return { kind: 'failed', failure: reportFailure(dependencies, attempt.record, error) };
  }
}

async function stream(
  { log, chooseRoute, outputLimits, telemetry, now, turns }: CallModelDependencies,
  attempt: Attempt,
): Promise<void> {
  const { record, signal, assembler, writer } = attempt;
  const route = chooseRoute(record.request.model, record.attempt);
  if (!route) throw failure('server_error', `No route to the model of response ${record.id}`);
  const calledAt = now();
  signal.throwIfAborted();
  const context = await log.readContext(record);
  if (context.kind === 'broken') {
    throw failure('previous_response_not_found', `Response ${context.missingId} is gone`);
  }
  attempt.generation = { ...record.request, input: [...context.items, ...record.input] };
  const call = { model: route.model, signal, responseId: record.id, attempt: record.attempt };
  const meter = new OutputMeter(outputLimits, route.provider.id);
  let chunks = 0;
  let hasOutput = false;
  for await (const chunk of route.provider.generate(attempt.generation, call)) {
    meter.addChunk(chunk);
    const events = assembler.push(chunk);
    attempt.write(events);
    meter.addEvents(events.length, assembler.output.fold.items.length);
    if (!hasOutput && assembler.hasOutput) {
      hasOutput = true;
      telemetry.emit('attempt.first_token', { ...about(record), sinceCallMs: now() - calledAt });
    }
    // An upstream that is faster than the store waits for it.
    if (writer.isBehind) await writer.flush();
    chunks += 1;
    if (chunks % chunksPerSlice === 0) await turns.next();
    if (signal.aborted) return;
  }
}

function reportFailure(
  { telemetry }: CallModelDependencies,
  record: ClaimedRecord,
  error: unknown,
): AttemptFailure {
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
    code,
    upstreamStatus,
    upstreamRequestId,
    error: known,
  });
  return known;
}

function failure(code: AttemptFailure['code'], message: string): ProviderError {
  return new ProviderError(code, message, { disposition: 'fail' });
}
