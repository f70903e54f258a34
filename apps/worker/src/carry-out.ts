import type { Outcome } from '@sluice/queue';
import type { LimitedBefore } from '@sluice/response-store';
import { pause } from '@sluice/runtime';
import { abortReason } from './abort-reasons.ts';
import { about, type Attempt, type AttemptDependencies } from './attempt.ts';
import {
  type AttemptEnding,
  type AttemptFailure,
  type Conclusion,
  type EndPlan,
  planOfFailure,
} from './conclude-attempt.ts';
import { estimatedUsage } from './estimated-usage.ts';
import { type FindRouteDependencies, sendAway } from './find-route.ts';
import { giveBack } from './give-back.ts';
import { chooseRoute, type RouteBlock, untried } from './model-routes.ts';
import type { PostponedResponses } from './postponed-responses.ts';
import { retryDelayMs, withJitter } from './retry-delay.ts';
import type { RetryPauses } from './retry-pauses.ts';
import { writeEnd, type WriteEndDependencies } from './write-end.ts';

/** When to look again at a response that another worker holds, in milliseconds. */
export const heldDelayMs = 1_000;

/** When a response may go to another worker while none of its upstreams answers this one, in milliseconds. */
const handOverMs = 1_000;

export type CarryOutDependencies = AttemptDependencies &
  FindRouteDependencies &
  WriteEndDependencies & {
    postponed: PostponedResponses;
    retryPauses: RetryPauses;
    /** Takes no jobs of a queue while no route of its models takes calls. Returns for how long that is, in milliseconds. */
    holdQueue: (queue: string) => number;
    /** The longest wait that an upstream may ask for, in milliseconds. */
    longestRetryAfterMs: number;
  };

/** The step after a conclusion: another claim, another conclusion because the attempt was aborted meanwhile, or none. */
export type NextStep =
  | { kind: 'claim' }
  | { kind: 'conclude'; attempt: Attempt; ending: AttemptEnding }
  | { kind: 'done'; outcome: Outcome };

/** Does what was concluded about an attempt. */
export async function carryOut(
  dependencies: CarryOutDependencies,
  attempt: Attempt,
  conclusion: Conclusion,
): Promise<NextStep> {
  const { running, telemetry } = dependencies;
  const { record, writer } = attempt;
  switch (conclusion.kind) {
    case 'end':
      return done(await endAttempt(dependencies, attempt, conclusion.plan, conclusion.because));
    case 'retry':
      return waitForRetry(dependencies, attempt, conclusion.failure);
    case 'postpone':
      return postpone(dependencies, attempt, conclusion.block);
    case 'give_back':
      await giveBack(dependencies, record, {
        isCounted: false,
        isHandOver: true,
        limited: limitedBefore(dependencies, attempt),
      });
      telemetry.emit('attempt.given_back', about(record));
      return done({ kind: 'given_back' });
    case 'leave':
      telemetry.emit('attempt.superseded', about(record));
      running.releaseAllLater(record.id, { claims: attempt.claims, isShown: attempt.isVisible });
      return done({ kind: 'settled' });
    case 'give_up':
      telemetry.emit('attempt.given_up', about(record));
      running.releaseAllLater(record.id, { claims: attempt.claims, isShown: conclusion.isShown });
      return done({ kind: 'later', afterMs: heldDelayMs });
    case 'report_defect':
      await writer.flush();
      throw new TypeError('A writer failed without an error');
  }
}

export function done(outcome: Outcome): NextStep {
  return { kind: 'done', outcome };
}

function endAttempt(
  dependencies: CarryOutDependencies,
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
        // Otherwise a caller that leaves before the upstream counts would have its output for nothing.
        uncountedOf: (output) => (assembler.hasOutput ? estimatedUsage(generation, output) : undefined),
        server: attempt.server,
        stopSequence: assembler.stopSequence,
        hasSaidError: false,
        because,
        claims: attempt.claims,
        isShown: attempt.isVisible,
      },
      plan,
    );
  return attempt.share.isLarge ? dependencies.largeWrites.run(record, write) : write();
}

/** A pause before a retry that is no longer than this, in milliseconds, is made in the slot. */
const briefPauseMs = 1_000;

/**
 * Retries at once if a route takes calls that has not failed for the response; otherwise after a pause, if there is time for it. A long one is made in
 * the slot only while a route is left to be tried, which nobody knows of once the response is given back, and for half of the slots.
 */
async function waitForRetry(
  dependencies: CarryOutDependencies,
  attempt: Attempt,
  failure: AttemptFailure,
): Promise<NextStep> {
  const { health, telemetry, longestRetryAfterMs, random } = dependencies;
  const { record, routes, signal, tried } = attempt;
  const { code, retryAfterMs } = failure;
  const others = untried(routes, tried);
  const waiter = health.waiter(attempt.owner);
  const isOtherFree = chooseRoute(others, tried, (route) => health.blockOf(route, waiter)).kind === 'route';
  const delayMs = isOtherFree
    ? 0
    : retryDelayMs(record.attempt, { retryAfterMs, longestRetryAfterMs, random });
  if (delayMs > 0 && delayMs >= attempt.remainingMs) {
    return done(await endAttempt(dependencies, attempt, planOfFailure(failure)));
  }
  telemetry.emit('attempt.retried', { ...about(record), code, delayMs });
  const isBrief = delayMs <= briefPauseMs;
  const leave = isBrief || others.length === 0 ? undefined : dependencies.retryPauses.enter(record.queue);
  if (!isBrief && !leave) return giveBackFor(dependencies, attempt, { afterMs: delayMs, isCounted: true });
  await pause(delayMs, signal).finally(leave);
  if (!signal.aborted) return { kind: 'claim' };
  return { kind: 'conclude', attempt, ending: { kind: 'aborted', reason: abortReason(signal) } };
}

/**
 * Gives a response back until a route may take calls. The attempt does not count, because it waits for one that has not been called. A
 * cancellation still reaches this process.
 */
async function postpone(
  dependencies: CarryOutDependencies,
  attempt: Attempt,
  { because, waitMs: blockedMs }: RouteBlock,
): Promise<NextStep> {
  const { health, holdQueue, telemetry, random } = dependencies;
  const { record, owner } = attempt;
  const heldMs = holdQueue(record.queue);
  // However many are away, it has a second try in its time.
  const mostMs = Math.max(blockedMs, attempt.remainingMs / 2);
  const waiter = health.waiter(owner);
  const hasCalled = attempt.calls.refusal !== undefined;
  const routes = hasCalled ? untried(attempt.routes, attempt.tried) : attempt.routes;
  const waitMs = sendAway(health, routes, waiter, mostMs) ?? blockedMs;
  // Another worker may reach the upstream, and this one takes no jobs meanwhile.
  const isForOthers = because === 'open' && heldMs >= waitMs;
  const afterMs = withJitter(isForOthers ? Math.min(waitMs, handOverMs) : waitMs, random);
  // Nobody waits for one in the background, whose time to run would pass with that of all before it.
  const isUnbegun = !hasCalled && record.request.background === true;
  const step = await giveBackFor(dependencies, attempt, { afterMs, isCounted: false, isUnbegun });
  if (step.kind === 'done') telemetry.emit('attempt.postponed', { ...about(record), because, afterMs });
  return step;
}

/** Gives a response back for so long, in milliseconds. */
async function giveBackFor(
  dependencies: CarryOutDependencies,
  attempt: Attempt,
  { afterMs, isCounted, isUnbegun = false }: { afterMs: number; isCounted: boolean; isUnbegun?: boolean },
): Promise<NextStep> {
  const { record, signal } = attempt;
  const limited = limitedBefore(dependencies, attempt);
  await giveBack(dependencies, record, { isCounted, staysReachable: true, isUnbegun, limited });
  // The cancellation came during the release. Nobody else would act on it before the job is delivered again.
  if (signal.aborted && abortReason(signal) === 'cancelled') return { kind: 'claim' };
  dependencies.postponed.add(record.id, afterMs);
  return done({ kind: 'later', afterMs });
}

/** The limits that the response has met, for the record: its next attempt may run in another process. */
function limitedBefore(
  { now, storeNow }: CarryOutDependencies,
  { owner }: Attempt,
): LimitedBefore | undefined {
  const { count, at } = owner.limits;
  return count === 0 ? undefined : { count, at: Math.floor(storeNow() - (now() - at)) };
}
