import { randomUUID } from 'node:crypto';
import type { Outcome } from '@sluice/queue';
import type { ClaimedRecord } from '@sluice/response-store';
import { pause } from '@sluice/runtime';
import { abortReason } from './abort-reasons.ts';
import { about, Attempt, type AttemptDependencies } from './attempt.ts';
import { callModel, type CallModelDependencies } from './call-model.ts';
import { type ClaimDependencies, claimResponse } from './claim-response.ts';
import {
  type AttemptEnding,
  type AttemptFailure,
  concludeAttempt,
  type Conclusion,
  type EndPlan,
} from './conclude-attempt.ts';
import { endWithoutRun } from './end-without-run.ts';
import { estimatedUsage } from './estimated-usage.ts';
import { retryDelayMs } from './retry-delay.ts';
import { writeEnd, type WriteEndDependencies } from './write-end.ts';

/** How long a record of another release is left alone before it is looked at again, in milliseconds. */
const unknownVersionDelayMs = 5_000;

/** When a response is looked at again that another worker holds, in milliseconds. */
const heldDelayMs = 1_000;

/** When a response is looked at again that waits for a process of its own, in milliseconds. */
const isolatedDelayMs = 250;

/** Runs a response in a process of its own; undefined when there is none free. */
export type Isolate = (responseId: string) => Promise<Outcome> | undefined;

export type ExecuteDependencies = AttemptDependencies &
  CallModelDependencies &
  ClaimDependencies &
  WriteEndDependencies & {
    /** Where a response runs whose last run died with its process; undefined where that is here. */
    isolate: Isolate | undefined;
  };

/**
 * Runs a response until it has its end, or until it must be given back: claim, call the model, conclude, carry out.
 *
 * Delivered twice, late, or by hand, it does no harm: the claim decides. The end is in the record before this returns,
 * so whatever happens to the job afterwards changes nothing for the caller.
 */
export async function executeResponse(
  dependencies: ExecuteDependencies,
  responseId: string,
): Promise<Outcome> {
  for (;;) {
    const claimed = await claimResponse(dependencies, responseId, randomUUID());
    switch (claimed.kind) {
      case 'nothing':
        return { kind: 'settled' };
      case 'held':
        return { kind: 'later', afterMs: heldDelayMs };
      case 'unknown_version':
        return { kind: 'later', afterMs: unknownVersionDelayMs };
      case 'end':
        return endWithoutRun(dependencies, claimed.record, claimed.because);
      case 'run': {
        const { record } = claimed;
        if (record.losses > 0 && dependencies.isolate) {
          // It claims for itself there.
          await dependencies.log.release(record, { isCounted: false });
          return (await dependencies.isolate(responseId)) ?? { kind: 'later', afterMs: isolatedDelayMs };
        }
        const outcome = await runAttempt(dependencies, record);
        if (outcome.kind !== 'again') return outcome;
      }
    }
  }
}

/** What an attempt came to: an outcome for the queue, or another attempt in this process. */
type AttemptOutcome = Outcome | { kind: 'again' };

async function runAttempt(dependencies: ExecuteDependencies, record: ClaimedRecord): Promise<AttemptOutcome> {
  const attempt = new Attempt(dependencies, record, { isRun: true });
  try {
    dependencies.telemetry.emit('attempt.started', about(record));
    const ending = await callModel(dependencies, attempt);
    return await carryOut(dependencies, attempt, concludeAttempt(ending, attempt));
  } catch (error) {
    // The rescue looks after the response, and nobody else does while this process seems to run it.
    dependencies.running.letGo(record, { isCounted: true });
    throw error;
  } finally {
    attempt.close();
  }
}

/** Does what was concluded about an attempt. */
async function carryOut(
  dependencies: ExecuteDependencies,
  attempt: Attempt,
  conclusion: Conclusion,
): Promise<AttemptOutcome> {
  const { log, running, telemetry } = dependencies;
  const { record, writer } = attempt;
  switch (conclusion.kind) {
    case 'end':
      return endAttempt(dependencies, attempt, conclusion.plan);
    case 'retry':
      return waitForRetry(dependencies, attempt, conclusion.failure);
    case 'give_back':
      await log.release(record, { isCounted: false });
      telemetry.emit('attempt.given_back', about(record));
      return { kind: 'given_back' };
    case 'let_go':
      telemetry.emit('attempt.superseded', about(record));
      return { kind: 'settled' };
    case 'give_up':
      telemetry.emit('attempt.given_up', about(record));
      running.letGo(record, { isCounted: true });
      return { kind: 'later', afterMs: heldDelayMs };
    case 'report_defect':
      await writer.flush();
      throw new TypeError('A writer failed without an error');
  }
}

function endAttempt(dependencies: ExecuteDependencies, attempt: Attempt, plan: EndPlan): Promise<Outcome> {
  const { record, writer, assembler, generation } = attempt;
  const isFinished = plan.status === 'completed' || plan.status === 'incomplete';
  return writeEnd(
    dependencies,
    {
      record,
      writer,
      output: assembler.output,
      // An upstream that counts no tokens has them estimated once it has finished.
      usageOf: (output) => assembler.usage ?? (isFinished ? estimatedUsage(generation, output) : null),
      hasSaidError: false,
      because: undefined,
    },
    plan,
  );
}

/** Another upstream may be tried at once; the same one only after a pause. */
async function waitForRetry(
  dependencies: ExecuteDependencies,
  attempt: Attempt,
  { code, retryAfterMs }: AttemptFailure,
): Promise<AttemptOutcome> {
  const { chooseRoute, telemetry } = dependencies;
  const { record, signal } = attempt;
  const { model } = record.request;
  const isSameUpstream =
    chooseRoute(model, record.attempt)?.provider === chooseRoute(model, record.attempt + 1)?.provider;
  const delayMs = isSameUpstream ? retryDelayMs(record.attempt, retryAfterMs) : 0;
  telemetry.emit('attempt.retried', { ...about(record), code, delayMs });
  await pause(delayMs, signal);
  if (!signal.aborted) return { kind: 'again' };
  const ending: AttemptEnding = { kind: 'aborted', reason: abortReason(signal) };
  return carryOut(dependencies, attempt, concludeAttempt(ending, attempt));
}
