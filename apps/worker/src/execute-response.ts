import { randomUUID } from 'node:crypto';
import { modeOf } from '@sluice/contract';
import type { Outcome } from '@sluice/queue';
import type { ClaimedRecord, PostponedClaim } from '@sluice/response-store';
import { about, Attempt, type RouteHistory } from './attempt.ts';
import { callModel, type CallModelDependencies } from './call-model.ts';
import { carryOut, type CarryOutDependencies, done, heldDelayMs, type NextStep } from './carry-out.ts';
import { type ClaimDependencies, claimResponse } from './claim-response.ts';
import { concludeAttempt } from './conclude-attempt.ts';
import { dropClaim } from './drop-claim.ts';
import { endWithoutRun } from './end-without-run.ts';
import { giveBack } from './give-back.ts';
import type { InputBudget } from './input-budget.ts';
import type { Suspect } from './isolation/isolated-runs.ts';
import type { ModelUse, RunnerModels } from './models/runner-models.ts';
import type { LeftToOthers } from './left-to-others.ts';
import { OwnLimits } from './own-limits.ts';
import { withJitter } from './retry-delay.ts';
import type { WaitsForRoom } from './waits-for-room.ts';

/** When to look again at a response that waits for a place in another process, in milliseconds. */
const isolatedDelayMs = 250;

/** Runs a response in another process, because its runs died with theirs; undefined when there is no place for it. */
export type Isolate = (suspect: Suspect) => Promise<Outcome> | undefined;

export type ExecuteDependencies = CallModelDependencies &
  CarryOutDependencies &
  ClaimDependencies & {
    /** Runs responses whose last run died with its process; undefined where they run in this process. */
    isolate: Isolate | undefined;
    inputBudget: InputBudget;
    models: Pick<RunnerModels, 'use'>;
    waitsForRoom: WaitsForRoom;
    ofOtherReleases: LeftToOthers;
    /** Paces the responses whose models this process does not know. */
    ofUnknownModels: LeftToOthers;
    /** Id of this process, or of the one that runs in its place. */
    workerId: string;
  };

/** The next thing to do for a response. */
type Step = NextStep | { kind: 'call'; attempt: Attempt };

/** A response in the hands of this process. */
interface Execution {
  readonly responseId: string;
  readonly history: Omit<RouteHistory, 'routes' | 'claims'> & { claims: string[] };
  /** The routes of its model; undefined before the first attempt. */
  use: ModelUse | undefined;
  /** The lease of the latest claim, under which room for the input is held. */
  token: string;
  /** The attempt under way. */
  attempt: Attempt | undefined;
}

/**
 * Runs a response until it has its end, or until it must be given back: claims it, calls the model, concludes, and claims
 * it again for a retry.
 *
 * A job that is delivered twice or late does no harm: the claim decides. The end is in the record before this returns,
 * so whatever happens to the job afterwards changes nothing for the caller.
 */
export async function executeResponse(
  dependencies: ExecuteDependencies,
  responseId: string,
): Promise<Outcome> {
  dependencies.postponed.delete(responseId);
  const history = { tried: new Map(), limits: new OwnLimits(), claims: [] };
  const execution: Execution = { responseId, history, use: undefined, token: '', attempt: undefined };
  try {
    let step: Step = { kind: 'claim' };
    while (step.kind !== 'done') step = await takeStep(dependencies, execution, step);
    return step.outcome;
  } catch (error) {
    const { attempt } = execution;
    if (attempt) {
      const { record, claims, isVisible: isShown } = attempt;
      dropClaim(dependencies, record, { claims, isShown });
    }
    throw error;
  } finally {
    execution.attempt?.close();
    execution.use?.end();
    dependencies.inputBudget.giveBack(execution.token);
  }
}

async function takeStep(
  dependencies: ExecuteDependencies,
  execution: Execution,
  step: Exclude<Step, { kind: 'done' }>,
): Promise<Step> {
  switch (step.kind) {
    case 'claim':
      return claim(dependencies, execution);
    case 'call': {
      const { attempt } = step;
      const ending = await callModel(dependencies, attempt);
      return ending ? { kind: 'conclude', attempt, ending } : step;
    }
    case 'conclude':
      return carryOut(dependencies, step.attempt, concludeAttempt(step.ending, step.attempt));
  }
}

/** Closes the attempt before, and begins another if the claim allows it. */
async function claim(dependencies: ExecuteDependencies, execution: Execution): Promise<Step> {
  const { responseId } = execution;
  execution.attempt?.close();
  execution.attempt = undefined;
  dependencies.inputBudget.giveBack(execution.token);
  execution.token = randomUUID();
  const claimed = await claimResponse(dependencies, responseId, execution.token);
  // One that has only been put behind others waits on.
  if (claimed.kind !== 'no_room' && claimed.kind !== 'overtaken')
    dependencies.waitsForRoom.delete(responseId);
  switch (claimed.kind) {
    case 'nothing':
      return done({ kind: 'settled' });
    case 'held':
      return done({ kind: 'later', afterMs: heldDelayMs });
    case 'crowded':
      dependencies.telemetry.emit('claim.crowded', { responseId });
      return done({ kind: 'deferred' });
    case 'overtaken':
      // A request for its end still comes to this process, if that gave it back.
      dependencies.postponed.add(responseId, 0);
      return done({ kind: 'later', afterMs: 0, priority: claimed.priority });
    case 'no_room':
      return done(await postponeForRoom(dependencies, claimed.held));
    case 'unknown_version':
      return done({ kind: 'later', afterMs: dependencies.ofOtherReleases.pauseMs(responseId) });
    case 'end':
      return done(await endWithoutRun(dependencies, claimed.record, claimed.because));
    case 'run':
      return claimed.record.losses > 0 && dependencies.isolate
        ? done(await runApart(dependencies, claimed.record, dependencies.isolate))
        : beginAttempt(dependencies, execution, claimed.record);
  }
}

/** Gives a response back until there may be room for its input. */
function postponeForRoom(dependencies: ExecuteDependencies, held: PostponedClaim): Promise<Outcome> {
  const { waitsForRoom, random } = dependencies;
  const afterMs = withJitter(waitsForRoom.pauseMs(held), random);
  waitsForRoom.add(held, afterMs);
  return postpone(dependencies, held, { because: 'memory', afterMs });
}

/**
 * Leaves a response to another worker, because this one has not read of its model yet, or no longer knows it. The claim has begun the time
 * that it may run for, and until that is over it waits for a worker that knows its model.
 */
function postponeForModel(dependencies: ExecuteDependencies, record: ClaimedRecord): Promise<Outcome> {
  const { id, token, request, attempt } = record;
  const afterMs = dependencies.ofUnknownModels.pauseMs(id);
  return postpone(dependencies, { id, token, model: request.model, attempt }, { because: 'model', afterMs });
}

async function postpone(
  dependencies: ExecuteDependencies,
  { id, token, model, attempt }: Omit<PostponedClaim, 'tenant' | 'bytes'>,
  { because, afterMs }: { because: 'memory' | 'model'; afterMs: number },
): Promise<Outcome> {
  const { postponed, telemetry } = dependencies;
  // Before it is given back: a cancellation meanwhile finds it.
  postponed.add(id, afterMs);
  const isUnbegun = because === 'memory';
  await giveBack(dependencies, { id, token }, { isCounted: false, staysReachable: true, isUnbegun });
  telemetry.emit('attempt.postponed', { responseId: id, model, attempt, because, afterMs });
  return { kind: 'later', afterMs };
}

/** Leaves a response to another process, which claims it for itself. */
async function runApart(
  dependencies: ExecuteDependencies,
  record: ClaimedRecord,
  isolate: Isolate,
): Promise<Outcome> {
  const { id: responseId, tenant, losses } = record;
  await giveBack(dependencies, record, { isCounted: false });
  dependencies.inputBudget.giveBack(record.token);
  return (await isolate({ responseId, tenant, losses })) ?? { kind: 'later', afterMs: isolatedDelayMs };
}

async function beginAttempt(
  dependencies: ExecuteDependencies,
  execution: Execution,
  record: ClaimedRecord,
): Promise<Step> {
  const { now, storeNow, telemetry, workerId, models } = dependencies;
  execution.use ??= models.use(record.request.model);
  if (!execution.use) return done(await postponeForModel(dependencies, record));
  const { use } = execution;
  const history: RouteHistory = {
    ...execution.history,
    get routes() {
      return use.routes;
    },
  };
  history.limits.take(record.limited, now(), (at) => storeNow() - at);
  execution.history.claims.push(record.token);
  const attempt = new Attempt(dependencies, record, history);
  execution.attempt = attempt;
  const { tenant, serviceTier: tier, acceptedAt, claimedAt, request } = record;
  telemetry.emit('attempt.claimed', {
    ...about(record),
    tenant,
    mode: modeOf(request),
    tier,
    acceptedAt,
    claimedAt,
    worker: workerId,
    trace: attempt.trace,
  });
  return { kind: 'call', attempt };
}
