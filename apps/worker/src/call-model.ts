import { estimateInputTokens, type Generation, modeOf } from '@sluice/contract';
import { type FinishReason, type ProviderChunk, ProviderError } from '@sluice/providers';
import { childOf, printTraceparent } from '@sluice/runtime';
import { abortReason } from './abort-reasons.ts';
import { about, type Attempt, type AttemptTraces } from './attempt.ts';
import type { AttemptEnding } from './conclude-attempt.ts';
import { findRoute, type FindRouteDependencies, waitForRoute } from './find-route.ts';
import { type ModelRoute, untried } from './model-routes.ts';
import { type OutputLimits, OutputMeter } from './output-meter.ts';
import { findBrokenPromise } from './promises/broken-promise.ts';
import type { JsonChecks } from './promises/json-checks.ts';
import { finalFailure, readGeneration, type ReadGenerationDependencies } from './read-generation.ts';
import type { ResponseLog } from './response-log.ts';
import type { CallFailure, RouteCall } from './route-health.ts';
import { type Affinity, affinityOf } from './servers/affinity.ts';
import { tellAnswer, tellFailure, type ToldCall } from './tell-call.ts';
import type { TurnBudget } from './turn-budget.ts';
import { UpstreamPace } from './upstream-pace.ts';

export interface CallModelDependencies extends FindRouteDependencies, ReadGenerationDependencies {
  log: Pick<ResponseLog, 'readContext' | 'serverOf'>;
  outputLimits: OutputLimits;
  jsonChecks: Pick<JsonChecks, 'check'>;
  /** Absent while traces are off. */
  traces?: AttemptTraces | undefined;
  /** Shared by all attempts of the process. */
  turns: TurnBudget;
  /** The store's clock, in milliseconds since the epoch. */
  storeNow: () => number;
}

/**
 * Takes one step towards the answer of a model: waits for a route, reads the request, or calls a route and writes what it
 * answers. Returns how the calls of the attempt ended, however they did; undefined when another step follows.
 *
 * An upstream that refuses before any output has begun no generation, so the attempt goes on at once with a route that
 * has not failed for this response. When no route takes calls, it waits for one for a short while.
 */
export async function callModel(
  dependencies: CallModelDependencies,
  attempt: Attempt,
): Promise<AttemptEnding | undefined> {
  const { health } = dependencies;
  const { calls, signal } = attempt;
  const waiter = (calls.waiter ??= health.waiter(attempt.owner));
  const stopWaiting = () => {
    health.leave(waiter);
    calls.wait = undefined;
  };
  try {
    signal.throwIfAborted();
    const found = findRoute(dependencies, attempt, waiter);
    if (found.kind === 'wait') {
      await waitForRoute(dependencies, attempt, waiter, found);
      return undefined;
    }
    stopWaiting();
    if (found.kind === 'blocked') return found;
    if (found.kind === 'none') return endWithoutRoute(attempt);
    const { route } = found;
    if (attempt.generation === undefined) {
      attempt.generation = await beginGeneration(dependencies, attempt);
      attempt.affinity = await findAffinity(dependencies, attempt, attempt.generation);
      // The store may have taken its time, so the signal and the routes are looked at again.
      return undefined;
    }
    const call = health.begin(route, waiter);
    // Another attempt has taken the turn, or the probe of an upstream that may be back.
    if (!call) return undefined;
    const ending = await callRoute(dependencies, attempt, { route, call }, attempt.generation);
    return ending.kind === 'failed' ? afterFailedCall(attempt, route, ending) : ending;
  } catch (error) {
    stopWaiting();
    if (signal.aborted) return aborted(attempt);
    return { kind: 'failed', failure: tellFailure(dependencies, attempt, undefined, error) };
  }
}

/** Reads which server has the conversation, if a provider of the response has several. An affinity is never worth a failure. */
async function findAffinity(
  { log }: Pick<CallModelDependencies, 'log'>,
  { record: { tenant, previousId }, routes }: Attempt,
  generation: Generation,
): Promise<Affinity | undefined> {
  if (!routes.some(({ server }) => server)) return undefined;
  const previous =
    previousId === undefined ? undefined : await log.serverOf(previousId).catch(() => undefined);
  return affinityOf(generation, { tenant, previous });
}

function endWithoutRoute({ calls, record }: Attempt): AttemptEnding {
  if (calls.refusal) return { kind: 'failed', failure: calls.refusal };
  throw finalFailure('server_error', `No route to the model of response ${record.id}`);
}

async function beginGeneration(dependencies: CallModelDependencies, attempt: Attempt): Promise<Generation> {
  const { record } = attempt;
  const generation = await readGeneration(dependencies, attempt);
  dependencies.telemetry.emit('attempt.started', {
    ...about(record),
    mode: modeOf(record.request),
    sinceAcceptMs: Math.max(0, dependencies.storeNow() - record.acceptedAt),
  });
  return generation;
}

/** Takes note of a failed call. Returns how the attempt ends; undefined when it may call another route. */
function afterFailedCall(
  { tried, calls, routes }: Attempt,
  route: ModelRoute,
  { failure, refusal, meaning }: FailedCall,
): AttemptEnding | undefined {
  calls.refusal = refusal;
  if (meaning === 'counted' && refusal?.fault === 'limited') {
    tried.delete(route);
    // Those that wait already go first.
    calls.waiter = undefined;
    return undefined;
  }
  tried.set(route, (tried.get(route) ?? 0) + 1);
  if (meaning === 'own_limit' && untried(routes, tried).length === 0) {
    const { code, publicMessage, param } = failure;
    return { kind: 'failed', failure: { code, disposition: 'fail', publicMessage, param } };
  }
  // No other call continues an answer of which something was written, whatever the upstream says of it.
  return refusal ? undefined : { kind: 'failed', failure };
}

/** A call that failed. `refusal` is its failure if there was no output before it, so that another route may be called instead. */
interface FailedCall {
  kind: 'failed';
  failure: ProviderError;
  refusal: ProviderError | undefined;
  meaning: CallFailure;
}

/** How a call of one route ended. */
type CallEnding = Extract<AttemptEnding, { kind: 'finished' | 'aborted' }> | FailedCall;

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
  attempt.server = route.server?.key;
  const endLoad = route.server && dependencies.serverLoads.begin(route.server);
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
    // The call succeeded, even if the answer breaks a promise.
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
  } finally {
    endLoad?.();
  }
}

/** Fails an attempt whose answer breaks a promise, as if the answer had been broken off. */
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
