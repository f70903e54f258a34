import { randomUUID } from 'node:crypto';
import { modeOf } from '@sluice/contract';
import type { Outcome } from '@sluice/queue';
import type { ClaimedRecord, LimitedBefore, PostponedClaim } from '@sluice/response-store';
import { pause, type TelemetryEvents } from '@sluice/runtime';
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
  planOfFailure,
} from './conclude-attempt.ts';
import { endWithoutRun } from './end-without-run.ts';
import { estimatedUsage } from './estimated-usage.ts';
import { giveBack } from './give-back.ts';
import type { InputBudget } from './input-budget.ts';
import type { Suspect } from './isolation/isolated-runs.ts';
import { chooseRoute, type RouteBlock, type TriedRoutes, untried } from './model-routes.ts';
import type { OtherReleases } from './other-releases.ts';
import { OwnLimits } from './own-limits.ts';
import type { PostponedResponses } from './postponed-responses.ts';
import { retryDelayMs, withJitter } from './retry-delay.ts';
import { writeEnd, type WriteEndDependencies } from './write-end.ts';

/** When a response is looked at again that another worker holds, in milliseconds. */
const heldDelayMs = 1_000;

/** When a response may go to another worker while none of its upstreams answers this one, in milliseconds. */
const handOverMs = 1_000;

/** When a response is looked at again that waits for a place in another process, in milliseconds. */
const isolatedDelayMs = 250;

/**
 * When a response is looked at again that found no room for its input: longer the more were postponed, in milliseconds, so
 * that a tenant with thousands of them costs the store few claims a second.
 */
const roomDelayMs = { least: 500, each: 20, most: 30_000 };

/** Runs a response that was lost so often in another process; undefined when there is no place for it. */
export type Isolate = (suspect: Suspect) => Promise<Outcome> | undefined;

export type ExecuteDependencies = AttemptDependencies &
  CallModelDependencies &
  ClaimDependencies &
  WriteEndDependencies & {
    /** Where a response runs whose last run died with its process; undefined where that is here. */
    isolate: Isolate | undefined;
    postponed: PostponedResponses;
    inputBudget: InputBudget;
    otherReleases: OtherReleases;
    /** Id of this process, or of the one that runs in its place. */
    workerId: string;
    /** Takes no jobs of a queue for as long as no route of its models takes calls. Returns for how long that is, in milliseconds. */
    holdQueue: (queue: string) => number;
    /** The longest wait that an upstream may ask for, in milliseconds. */
    longestRetryAfterMs: number;
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
  dependencies.postponed.delete(responseId);
  const tried: TriedRoutes = new Map();
  const limits = new OwnLimits();
  for (;;) {
    const token = randomUUID();
    try {
      const outcome = await executeClaimed(dependencies, responseId, token, { tried, limits });
      if (outcome.kind !== 'again') return outcome;
    } finally {
      dependencies.inputBudget.giveBack(token);
    }
  }
}

async function executeClaimed(
  dependencies: ExecuteDependencies,
  responseId: string,
  token: string,
  { tried, limits }: { tried: TriedRoutes; limits: OwnLimits },
): Promise<AttemptOutcome> {
  const claimed = await claimResponse(dependencies, responseId, token);
  switch (claimed.kind) {
    case 'nothing':
      return { kind: 'settled' };
    case 'held':
      return { kind: 'later', afterMs: heldDelayMs };
    case 'crowded':
      dependencies.telemetry.emit('claim.crowded', { responseId });
      return { kind: 'parked' };
    case 'no_room':
      return postponeForRoom(dependencies, claimed.held);
    case 'unknown_version':
      return { kind: 'later', afterMs: dependencies.otherReleases.pauseMs(responseId) };
    case 'end':
      return endWithoutRun(dependencies, claimed.record, claimed.because);
    case 'run': {
      const { record } = claimed;
      if (record.losses > 0 && dependencies.isolate) {
        // It claims for itself there.
        await giveBack(dependencies, record, { isCounted: false });
        const apart = dependencies.isolate({ responseId, tenant: record.tenant, losses: record.losses });
        return apart ?? { kind: 'later', afterMs: isolatedDelayMs };
      }
      const { now, storeNow } = dependencies;
      limits.take(record.limited, now(), (at) => storeNow() - at);
      return runAttempt(dependencies, record, { tried, limits });
    }
  }
}

/** Gives a response back until there may be room for its input. */
async function postponeForRoom(
  dependencies: ExecuteDependencies,
  { id, token, model, attempt }: PostponedClaim,
): Promise<Outcome> {
  const { postponed, telemetry, random } = dependencies;
  const { least, each, most } = roomDelayMs;
  const afterMs = withJitter(Math.min(Math.max(least, postponed.size * each), most), random);
  // Before it is given back: a cancellation meanwhile finds it.
  postponed.add(id, afterMs);
  await giveBack(dependencies, { id, token }, { isCounted: false, staysReachable: true });
  telemetry.emit('attempt.postponed', { responseId: id, model, attempt, because: 'memory', afterMs });
  return { kind: 'later', afterMs };
}

function claimedFact({ record, trace }: Attempt, worker: string): TelemetryEvents['attempt.claimed'] {
  const { tenant, serviceTier: tier, acceptedAt, request } = record;
  return { ...about(record), tenant, mode: modeOf(request), tier, acceptedAt, worker, trace };
}

/** What an attempt came to: an outcome for the queue, or another attempt in this process. */
type AttemptOutcome = Outcome | { kind: 'again' };

async function runAttempt(
  dependencies: ExecuteDependencies,
  record: ClaimedRecord,
  { tried, limits }: { tried: TriedRoutes; limits: OwnLimits },
): Promise<AttemptOutcome> {
  const attempt = new Attempt(dependencies, record, { isRun: true, limits });
  dependencies.telemetry.emit('attempt.claimed', claimedFact(attempt, dependencies.workerId));
  try {
    const ending = await callModel(dependencies, attempt, tried);
    return await carryOut(dependencies, attempt, concludeAttempt(ending, attempt), tried);
  } catch (error) {
    // The rescue looks after the response, and nobody else does while this process seems to run it.
    dependencies.running.letGo(record, { isCounted: true });
    dependencies.telemetry.emit('attempt.dropped', about(record));
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
  tried: TriedRoutes,
): Promise<AttemptOutcome> {
  const { running, telemetry } = dependencies;
  const { record, writer } = attempt;
  switch (conclusion.kind) {
    case 'end':
      return endAttempt(dependencies, attempt, conclusion.plan, conclusion.because);
    case 'retry':
      return waitForRetry(dependencies, attempt, conclusion.failure, tried);
    case 'postpone':
      return postpone(dependencies, attempt, conclusion.block);
    case 'give_back':
      await giveBack(dependencies, record, {
        isCounted: false,
        isHandOver: true,
        limited: limitedBefore(dependencies, attempt),
      });
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

function endAttempt(
  dependencies: ExecuteDependencies,
  attempt: Attempt,
  plan: EndPlan,
  because?: string,
): Promise<Outcome> {
  const { record, writer, assembler, generation } = attempt;
  const isFinished = plan.status === 'completed' || plan.status === 'incomplete';
  const write = () =>
    writeEnd(
      dependencies,
      {
        record,
        writer,
        output: assembler.output,
        // An upstream that counts no tokens has them estimated once it has finished.
        usageOf: (output) => assembler.usage ?? (isFinished ? estimatedUsage(generation, output) : null),
        // Or a caller that leaves before the upstream counts would have its output for nothing.
        uncountedOf: (output) =>
          assembler.hasOutput ? estimatedUsage(generation, output).total_tokens : undefined,
        hasSaidError: false,
        because,
      },
      plan,
    );
  return attempt.share.isLarge ? dependencies.largeWrites.run(record.tenant, write) : write();
}

/** A route that has not failed for the response is tried at once; any other only after a pause, if there is time for it. */
async function waitForRetry(
  dependencies: ExecuteDependencies,
  attempt: Attempt,
  failure: AttemptFailure,
  tried: TriedRoutes,
): Promise<AttemptOutcome> {
  const { routes, health, telemetry, longestRetryAfterMs, random } = dependencies;
  const { record, signal } = attempt;
  const { code, retryAfterMs } = failure;
  const others = untried(routes.get(record.request.model) ?? [], tried);
  const waiter = health.waiter(attempt.owner);
  const isOtherFree = chooseRoute(others, tried, (route) => health.blockOf(route, waiter)).kind === 'route';
  const delayMs = isOtherFree
    ? 0
    : retryDelayMs(record.attempt, { retryAfterMs, longestRetryAfterMs, random });
  if (delayMs > 0 && delayMs >= attempt.remainingMs) {
    return endAttempt(dependencies, attempt, planOfFailure(failure));
  }
  telemetry.emit('attempt.retried', { ...about(record), code, delayMs });
  await pause(delayMs, signal);
  if (!signal.aborted) return { kind: 'again' };
  const ending: AttemptEnding = { kind: 'aborted', reason: abortReason(signal) };
  return carryOut(dependencies, attempt, concludeAttempt(ending, attempt), tried);
}

/**
 * Gives a response back until a route may take calls. The attempt does not count, because no upstream was called. This
 * process goes on hearing of its cancellation.
 */
async function postpone(
  dependencies: ExecuteDependencies,
  attempt: Attempt,
  { because, waitMs }: RouteBlock,
): Promise<AttemptOutcome> {
  const { postponed, holdQueue, telemetry, random } = dependencies;
  const { record, signal } = attempt;
  const heldMs = holdQueue(record.queue);
  // Another worker may reach the upstream; this one takes no jobs meanwhile.
  const isForOthers = because === 'open' && heldMs >= waitMs;
  const afterMs = withJitter(isForOthers ? Math.min(waitMs, handOverMs) : waitMs, random);
  await giveBack(dependencies, record, {
    isCounted: false,
    staysReachable: true,
    limited: limitedBefore(dependencies, attempt),
  });
  // Asked for while it was given back: nobody else would hear of it before the job is delivered again.
  if (signal.aborted && abortReason(signal) === 'cancelled') return { kind: 'again' };
  postponed.add(record.id, afterMs);
  telemetry.emit('attempt.postponed', { ...about(record), because, afterMs });
  return { kind: 'later', afterMs };
}

/** For the record: what its next attempt has to know of its limits, wherever it runs. */
function limitedBefore(
  { now, storeNow }: ExecuteDependencies,
  { owner }: Attempt,
): LimitedBefore | undefined {
  const { count, at } = owner.limits;
  return count === 0 ? undefined : { count, at: Math.floor(storeNow() - (now() - at)) };
}
