import { estimateInputTokens, type Generation, modeOf } from '@sluice/contract';
import { type FinishReason, type ProviderChunk, ProviderError } from '@sluice/providers';
import { childOf, printTraceparent, type Telemetry } from '@sluice/runtime';
import { abortReason } from './abort-reasons.ts';
import { about, type Attempt, type AttemptTraces } from './attempt.ts';
import { type AttemptEnding, mayWait } from './conclude-attempt.ts';
import {
  chooseRoute,
  type ModelRoute,
  type ModelRoutes,
  type RouteBlock,
  type RouteChoice,
  type TriedRoutes,
  untried,
} from './model-routes.ts';
import { type OutputLimits, OutputMeter } from './output-meter.ts';
import { findBrokenPromise } from './promises/broken-promise.ts';
import type { JsonChecks } from './promises/json-checks.ts';
import { finalFailure, readGeneration, type ReadGenerationDependencies } from './read-generation.ts';
import { withJitter } from './retry-delay.ts';
import type { CallFailure, RouteCall, WaitingResponse } from './route-health.ts';
import { tellAnswer, tellFailure, type ToldCall } from './tell-call.ts';
import type { TurnBudget } from './turn-budget.ts';
import { UpstreamPace } from './upstream-pace.ts';
import type { UpstreamHealth } from './upstream-health.ts';

/** A response waits for a route in this process for this long at most, in milliseconds. It keeps its slot meanwhile. */
const waitHereMs = 3_000;

/** Longer waits, in milliseconds, are for some slots alone: others are free for those whose routes take calls. */
const briefWaitMs = 1_000;

/** And for this long where it waits for its turn in line, in milliseconds. */
const waitInLineMs = 30_000;

export interface CallModelDependencies extends ReadGenerationDependencies {
  routes: ModelRoutes;
  health: UpstreamHealth;
  outputLimits: OutputLimits;
  jsonChecks: Pick<JsonChecks, 'check'>;
  telemetry: Telemetry;
  /** Absent while traces are off. */
  traces?: AttemptTraces | undefined;
  /** Shared by all attempts of the process. */
  turns: TurnBudget;
  /** From 0 to 1. */
  random: () => number;
  /** The store's clock, in milliseconds since the epoch. */
  storeNow: () => number;
}

/**
 * Calls the model and writes what it says. Every way in which that can end is a value.
 *
 * An upstream that refuses before any output has begun no generation, so the attempt goes on with a route that has not
 * failed for this response, at once. It waits for a route when none takes calls, for a short while.
 */
export async function callModel(
  dependencies: CallModelDependencies,
  attempt: Attempt,
  tried: TriedRoutes,
): Promise<AttemptEnding> {
  try {
    return await callRoutes(dependencies, attempt, tried);
  } catch (error) {
    if (attempt.signal.aborted) return aborted(attempt);
    return { kind: 'failed', failure: tellFailure(dependencies, attempt, undefined, error) };
  }
}

async function callRoutes(
  dependencies: CallModelDependencies,
  attempt: Attempt,
  tried: TriedRoutes,
): Promise<AttemptEnding> {
  const { record } = attempt;
  const { health } = dependencies;
  let waiter = health.waiter(attempt.owner);
  const routes = dependencies.routes.get(record.request.model) ?? [];
  let refusal: ProviderError | undefined;
  for (;;) {
    const choice = await findRoute(dependencies, attempt, { routes, tried, refusal, waiter });
    if (choice.kind === 'blocked') return choice;
    if (choice.kind === 'none') {
      if (refusal) return { kind: 'failed', failure: refusal };
      throw finalFailure('server_error', `No route to the model of response ${record.id}`);
    }
    if (attempt.generation === undefined) {
      attempt.generation = await readGeneration(dependencies, attempt);
      // The store may have taken its time: another look at the routes, and at the signal.
      dependencies.telemetry.emit('attempt.started', {
        ...about(record),
        mode: modeOf(record.request),
        sinceAcceptMs: Math.max(0, dependencies.storeNow() - record.acceptedAt),
      });
      continue;
    }
    const call = health.begin(choice.route, waiter);
    // Another attempt was quicker to take the turn, or the one call that an upstream gets when it may be back.
    if (!call) continue;
    const ending = await callRoute(dependencies, attempt, { ...choice, call }, attempt.generation);
    if (ending.kind === 'aborted' || ending.kind === 'finished') return ending;
    const { failure, meaning } = ending;
    refusal = ending.refusal;
    if (meaning === 'own_limit') {
      tried.set(choice.route, (tried.get(choice.route) ?? 0) + 1);
      if (untried(routes, tried).length > 0) continue;
      const { code, publicMessage, param } = failure;
      return { kind: 'failed', failure: { code, disposition: 'fail', publicMessage, param } };
    }
    if (refusal?.fault === 'limited') {
      tried.delete(choice.route);
      // Those that wait go first.
      waiter = health.waiter(attempt.owner);
    } else {
      tried.set(choice.route, (tried.get(choice.route) ?? 0) + 1);
    }
    if (!refusal) return { kind: 'failed', failure };
  }
}

/**
 * The route of the next call, after a short wait if need be. After a refusal only routes count that have not failed for
 * the response; one that was limited has not. None, if the attempt has to end with the refusal: it may be followed by
 * another, or what is left is down. The last attempt waits for a route that is merely parked.
 */
async function findRoute(
  { health, now, random, telemetry }: CallModelDependencies,
  attempt: Attempt,
  {
    routes,
    tried,
    refusal,
    waiter,
  }: {
    routes: readonly ModelRoute[];
    tried: TriedRoutes;
    refusal: ProviderError | undefined;
    waiter: WaitingResponse;
  },
): Promise<RouteChoice> {
  const { record, signal, mayRetry } = attempt;
  const since = now();
  let blockedBy: RouteBlock['because'] | undefined;
  try {
    for (;;) {
      signal.throwIfAborted();
      const candidates = refusal ? untried(routes, tried) : routes;
      const choice = chooseRoute(candidates, tried, (route) => health.blockOf(route, waiter));
      if (choice.kind !== 'blocked') return choice;
      const { block } = choice;
      const hasRefused = refusal?.fault === 'refused' || refusal?.fault === 'unreachable';
      if (hasRefused && (mayRetry || block.because === 'open')) return { kind: 'none' };
      if (!mayWaitHere(block, now() - since) || !mayWait(block, attempt)) return choice;
      if (mayHoldUp(block) && !candidates.some((route) => health.mayWaitFor(route))) return choice;
      if (block.because !== blockedBy)
        telemetry.emit('attempt.blocked', { ...about(record), because: block.because });
      blockedBy = block.because;
      const atMostMs = withJitter(block.waitMs, random);
      await health.waitForTurn(waiter, candidates, { atMostMs, signal });
    }
  } finally {
    health.leave(waiter);
  }
}

function mayWaitHere(block: RouteBlock, waitedMs: number): boolean {
  if (block.because === 'busy') return !block.isLineFull && waitedMs < waitInLineMs;
  return waitedMs + block.waitMs <= waitHereMs;
}

/** Whether slots that wait for it could keep those out that would be served. A line bounds itself. */
function mayHoldUp(block: RouteBlock): boolean {
  return block.because !== 'busy' && block.waitMs > briefWaitMs;
}

/** How a call of one route ended. `refusal`: before any output, so that another route may be called in its place. */
type CallEnding =
  | Extract<AttemptEnding, { kind: 'finished' | 'aborted' }>
  | { kind: 'failed'; failure: ProviderError; refusal: ProviderError | undefined; meaning: CallFailure };

async function callRoute(
  dependencies: CallModelDependencies,
  attempt: Attempt,
  { route, call }: { route: ModelRoute; call: RouteCall },
  generation: Generation,
): Promise<CallEnding> {
  const { record, signal, assembler } = attempt;
  const trace = attempt.trace && childOf(attempt.trace);
  const calledAt = dependencies.now();
  const called = { ...about(record), provider: route.provider.id, upstreamModel: route.model, trace };
  dependencies.telemetry.emit('attempt.called', called);
  let hasChunks = false;
  const meter = new OutputMeter(dependencies.outputLimits, route.provider.id);
  const pace = new UpstreamPace({ turns: dependencies.turns, meter, share: attempt.share, signal });
  try {
    const chunks = route.provider.generate(generation, {
      model: route.model,
      signal,
      responseId: record.id,
      attempt: record.attempt,
      traceparent: trace && dependencies.traces?.propagates ? printTraceparent(trace) : undefined,
      pace,
    });
    await write(dependencies, attempt, { chunks, meter, pace, route, calledAt }, () => {
      hasChunks = true;
      call.answered(() => estimateInputTokens(generation));
    });
    if (signal.aborted) {
      call.abandoned();
      return aborted(attempt);
    }
    if (assembler.finish === undefined) {
      throw new ProviderError('upstream_error', 'The stream ended without saying that it finished', {
        disposition: 'retry',
        fault: 'broken',
      });
    }
    // The upstream has done its part, whatever it said.
    call.succeeded();
    tellAnswer(dependencies, attempt, { route, calledAt }, assembler.finish);
    return await judge(dependencies, attempt, route, assembler.finish);
  } catch (error) {
    if (signal.aborted) {
      call.abandoned();
      return aborted(attempt);
    }
    const failure = tellFailure(dependencies, attempt, { route, calledAt }, error);
    const meaning = call.failed(failure);
    const isRefusal = !hasChunks && failure.fault !== undefined && failure.fault !== 'broken';
    return { kind: 'failed', failure, refusal: isRefusal ? failure : undefined, meaning };
  }
}

/** An answer that breaks a promise fails its attempt, as an answer that was broken off does. */
async function judge(
  dependencies: CallModelDependencies,
  attempt: Attempt,
  route: ModelRoute,
  finish: FinishReason,
): Promise<CallEnding> {
  const { record, signal, assembler } = attempt;
  const answer = { request: record.request, output: assembler.output.fold.items, finish };
  const broken = await findBrokenPromise(answer, (checks) =>
    dependencies.jsonChecks.check(record.tenant, checks, signal),
  );
  if (signal.aborted) return aborted(attempt);
  if (!broken) return { kind: 'finished', reason: finish };
  const failure = tellFailure(dependencies, attempt, { route, calledAt: undefined }, broken);
  return { kind: 'failed', failure, refusal: undefined, meaning: 'counted' };
}

/** Writes the chunks of an answer as they come. Returns early when the attempt is aborted. */
async function write(
  { telemetry, now }: CallModelDependencies,
  attempt: Attempt,
  answer: ToldCall & { chunks: AsyncIterable<ProviderChunk>; meter: OutputMeter; pace: UpstreamPace },
  onFirstChunk: () => void,
): Promise<void> {
  const { record, signal, assembler } = attempt;
  const { route, calledAt = now(), meter, pace } = answer;
  let hasChunks = false;
  let hasOutput = false;
  for await (const chunk of answer.chunks) {
    if (!hasChunks) onFirstChunk();
    hasChunks = true;
    meter.addChunk(chunk);
    const events = assembler.push(chunk);
    const written = attempt.write(events);
    if (written) await written;
    meter.addEvents(events.length, assembler.output.fold.items.length);
    if (!hasOutput && assembler.hasOutput) {
      hasOutput = true;
      telemetry.emit('attempt.first_token', {
        ...about(record),
        provider: route.provider.id,
        upstreamModel: route.model,
        sinceCallMs: now() - calledAt,
      });
    }
    const pause = attempt.makeRoom(meter.held) ?? pace.tookChunk();
    if (pause) await pause;
    if (signal.aborted) return;
  }
}

function aborted({ signal }: Attempt): Extract<AttemptEnding, { kind: 'aborted' }> {
  return { kind: 'aborted', reason: abortReason(signal) };
}
