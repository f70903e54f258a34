import { randomBytes } from 'node:crypto';
import {
  type ContentEvent,
  errorEvent,
  failureBody,
  type FailureCode,
  type Generation,
  newResponseId,
} from '@sluice/contract';
import type { ClaimedRecord } from '@sluice/response-store';
import { ContentSealer, sealingKeyOf } from '@sluice/response-store/sealed-content';
import { Telemetry } from '@sluice/runtime';
import { ProviderError, type ProviderCall, type ProviderChunk } from '@sluice/providers';
import {
  checkEventGrammar,
  eventually,
  latch,
  type ScriptedProvider,
  scriptedProvider,
  within,
} from '@sluice/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { healthOf } from '../test/idle-upstreams.ts';
import { MemoryLog, unclaimedRecord } from '../test/memory-log.ts';
import { wholeStream } from '../test/whole-stream.ts';
import { executeResponse, type ExecuteDependencies } from './execute-response.ts';
import type { ModelRoute } from './model-routes.ts';
import type { OutputLimits } from './output-meter.ts';
import { InputBudget } from './input-budget.ts';
import { LargeWrites } from './large-writes.ts';
import { OutputBudget, type OutputBudgetOptions } from './output-budget.ts';
import { LeftToOthers } from './left-to-others.ts';
import { OwnLimits } from './own-limits.ts';
import { PostponedResponses } from './postponed-responses.ts';
import { RetryPauses } from './retry-pauses.ts';
import { checkJson } from './promises/check-json.ts';
import { RunningAttempts } from './running-attempts.ts';
import { TurnBudget } from './turn-budget.ts';
import type { UpstreamHealth } from './upstream-health.ts';
import { WaitsForRoom } from './waits-for-room.ts';
import { logWorker } from './worker-log.ts';

type Scripted = ScriptedProvider<ProviderChunk, Generation, ProviderCall>;

const sealingKey = sealingKeyOf('a secret');
const text = (delta: string): ProviderChunk => ({ type: 'text', delta });
const finish: ProviderChunk = { type: 'finish', reason: 'stop' };
const retryable = (code: FailureCode = 'upstream_error') =>
  new ProviderError(code, 'http://10.0.0.7 said sk-secret', { disposition: 'retry', retryAfterMs: 0 });
const final = (code: FailureCode) => new ProviderError(code, 'no', { disposition: 'fail' });

interface SetUpOptions {
  streams?: boolean;
  maxAttempts?: number;
  remainingMs?: number;
  request?: Partial<ClaimedRecord['request']>;
  /** How many upstreams the model has. */
  upstreams?: number;
  outputLimits?: Partial<OutputLimits>;
  /** Failures in a row that open the breaker of an upstream. */
  consecutiveFailures?: number;
  /** Calls of an upstream at a time. */
  slots?: number;
  budget?: OutputBudgetOptions;
  tenant?: string;
}

const generousLimits: OutputLimits = { outputBytes: 1_000_000, outputItems: 1_000, outputEvents: 100_000 };

const generousBudget: OutputBudgetOptions = { bytes: 1_000_000, freeBytes: 100_000 };

function setUp(options: SetUpOptions = {}) {
  const {
    streams = true,
    maxAttempts = 2,
    remainingMs = 60_000,
    request,
    upstreams = 1,
    outputLimits,
  } = options;
  const { consecutiveFailures = 100, slots = 32, budget = generousBudget } = options;
  const record = unclaimedRecord({
    tenant: options.tenant ?? 'team',
    request: { model: 'm', stream: streams, ...request },
    streams,
    maxAttempts,
    remainingMs,
  });
  const { id } = record;
  const log = new MemoryLog(record);
  const providers: Scripted[] = Array.from({ length: upstreams }, (_, at) => scriptedProvider(`p${at}`));
  const routeTo = (provider: Scripted, at: number): ModelRoute => ({ provider, model: `upstream-${at}` });
  const routes = providers.map(routeTo);
  const [provider = scriptedProvider(), second = scriptedProvider()] = providers;
  const [route = routeTo(provider, 0), secondRoute = routeTo(second, 1)] = routes;
  const running = new RunningAttempts({
    log,
    outageMs: 60_000,
    onError: () => undefined,
  });
  const observed: string[] = [];
  const logged: { level: string; fields: object; message: string }[] = [];
  const write = (level: string) => (fields: object, message: string) => {
    logged.push({ level, fields, message });
  };
  const telemetry = new Telemetry((error) => {
    throw error;
  });
  logWorker(telemetry, { info: write('info'), warn: write('warn'), error: write('error') } as never);
  telemetry.on('attempt.started', () => observed.push('started'));
  telemetry.on('attempt.first_token', () => observed.push('first token'));
  telemetry.on('attempt.retried', ({ code }) => observed.push(`retried ${code}`));
  telemetry.on('response.ended', ({ status }) => observed.push(`ended ${status}`));
  telemetry.on('attempt.postponed', ({ because }) => observed.push(`postponed ${because}`));
  let passedMs = 0;
  const now = () => passedMs;
  const pass = (ms: number) => {
    passedMs += ms;
  };
  const health = healthOf({
    routes,
    slotsOf: () => slots,
    breaker: { consecutiveFailures, openMs: 5_000 },
    longestRetryAfterMs: 10_000,
    telemetry,
    now,
  });
  const heldQueues: string[] = [];
  const usesEnded: string[] = [];
  const dependencies: ExecuteDependencies = {
    log,
    models: { use: (model) => (model === 'm' ? { routes, end: () => usesEnded.push(model) } : undefined) },
    health,
    serverLoads: { of: () => 0, begin: () => () => undefined },
    outputLimits: { ...generousLimits, ...outputLimits },
    jsonChecks: { check: (_tenant, checks) => Promise.resolve(checks.map(checkJson)) },
    running,
    sealerOf: (tenant) => new ContentSealer([sealingKey], tenant),
    contextTokensOf: () => undefined,
    postponed: new PostponedResponses({ now }),
    retryPauses: new RetryPauses({ slots: () => 2 }),
    waitsForRoom: new WaitsForRoom({ now }),
    inputBudget: new InputBudget(1_000_000),
    ofOtherReleases: new LeftToOthers({ now, random: () => 0.5 }),
    ofUnknownModels: new LeftToOthers({ now, random: () => 0.5 }),
    telemetry,
    turns: new TurnBudget(),
    outputBudget: new OutputBudget(budget),
    largeWrites: new LargeWrites(),
    isolate: undefined,
    outageMs: 60_000,
    now,
    random: () => 0,
    storeNow: () => 5_500 + passedMs,
    holdQueue: (queue) => {
      heldQueues.push(queue);
      return 0;
    },
    openWaitMs: 10_000,
    longestRetryAfterMs: 10_000,
    workerId: 'worker-of-the-test',
  };
  const execute = () => within(executeResponse(dependencies, id));
  /** It runs until it calls its first upstream. */
  const called = async () => {
    const made = provider.calls.length;
    const outcome = execute();
    return { outcome, call: await provider.call(made) };
  };
  /** It runs, and its first upstream answers with these chunks. */
  const answered = async (...chunks: ProviderChunk[]) => {
    const { outcome, call } = await called();
    call.answer(...chunks);
    return outcome;
  };
  /** It runs, and the call of its first upstream fails. */
  const failed = async (error: unknown) => {
    const { outcome, call } = await called();
    call.fail(error);
    return outcome;
  };
  /** It runs until a reader may have seen half of its answer. */
  const halfway = async () => {
    const { outcome, call } = await called();
    call.send(text('Half'));
    await eventually(() => log.events.length > 0);
    return { outcome, call };
  };
  const upstream = (at: number): Scripted => {
    const found = providers[at];
    if (!found) throw new Error(`there is no upstream ${at}`);
    return found;
  };
  return {
    ...{ id, log, provider, second, providers, upstream, route, secondRoute, running, observed, logged },
    ...{ execute, called, answered, failed, halfway, dependencies, health, heldQueues, usesEnded, pass },
  };
}

/** A process that releases the claims of what it gives up. */
function setUpWithReleases() {
  const world = setUp();
  world.running.start();
  onTestFinished(() => world.running.stop());
  return world;
}

/** Longer than a worker waits for. */
const downForAnHour = () =>
  new ProviderError('upstream_error', 'down', { disposition: 'retry', retryAfterMs: 3_600_000 });

/** Another response, of the same tenant unless another is named. */
function neighbour(health: UpstreamHealth, tenant = 'team') {
  return health.waiter({ tenant, responseId: newResponseId(randomBytes), limits: new OwnLimits() });
}

/** The grammar of the wire, which holds for every stream that ended. */
function expectSoundStream({ id, events, end }: MemoryLog) {
  if (!end) throw new Error('the response has no end');
  expect(checkEventGrammar(wholeStream(id, events, end))).toEqual([]);
}

function typesOf(log: MemoryLog): string[] {
  return log.events.map(({ type }) => type);
}

describe('an attempt', () => {
  it('writes events as the model speaks and ends the response with them', async () => {
    const { log, observed, called } = setUp();
    const { outcome, call } = await called();
    call.send(text('Hel'));
    await eventually(() => typesOf(log).includes('response.output_text.delta'));
    call.answer(text('lo'), finish);
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(log.end).toMatchObject({ status: 'completed', completed_at: 5, error: null });
    expect(log.end?.output).toMatchObject([{ status: 'completed', content: [{ text: 'Hello' }] }]);
    expectSoundStream(log);
    expect(observed).toEqual(['started', 'first token', 'ended completed']);
  });

  it('tells the provider its own name of the model, the response and the attempt', async () => {
    const { id, called } = setUp();
    const { outcome, call } = await called();
    expect(call.call).toMatchObject({ model: 'upstream-0', responseId: id, attempt: 1 });
    expect(call.generation).toMatchObject({ input: [] });
    call.answer(finish);
    await outcome;
  });

  it('calls no server that is gone by the time of the call', async () => {
    const { dependencies, upstream, execute, route, secondRoute } = setUp({ upstreams: 2 });
    let isGone = false;
    dependencies.models = {
      use: () => ({
        get routes() {
          return isGone ? [secondRoute] : [route, secondRoute];
        },
        end: () => undefined,
      }),
    };
    // The name of the servers resolves to others while the request is read.
    dependencies.telemetry.on('attempt.started', () => {
      isGone = true;
    });
    const outcome = execute();
    (await upstream(1).call(0)).answer(finish);
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(upstream(0).calls).toEqual([]);
  });

  it('begins as soon as the store answers its claim', async () => {
    const { log, answered } = setUp();
    log.unanswered = 2;
    expect(await answered(finish)).toEqual({ kind: 'settled' });
    expect(log.claims).toEqual(['run']);
    expect(log.end).toMatchObject({ status: 'completed' });
  });

  it('writes nothing but the end of a response that does not stream', async () => {
    const { log, answered } = setUp({ streams: false });
    await answered(text('Hello'), finish);
    expect(log.events).toEqual([]);
    expect(log.end).toMatchObject({ status: 'completed', output: [{ content: [{ text: 'Hello' }] }] });
  });

  it.each(['max_output_tokens', 'content_filter'] as const)('ends incomplete at %s', async (reason) => {
    const { log, answered } = setUp();
    expect(await answered(text('Hel'), { type: 'finish', reason })).toEqual({ kind: 'settled' });
    expect(log.end).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason },
      output: [{ status: 'incomplete' }],
    });
    expectSoundStream(log);
  });

  it('keeps to one call where the request allows no parallel ones', async () => {
    const { log, answered } = setUp({ request: { parallel_tool_calls: false } });
    await answered(
      { type: 'function_call', callKey: '0', name: 'one' },
      { type: 'function_call', callKey: '1', name: 'two' },
      { type: 'finish', reason: 'function_call' },
    );
    expect(log.end?.output).toMatchObject([{ type: 'function_call', name: 'one' }]);
  });

  it('is registered while it runs and never afterwards', async () => {
    const { running, called } = setUp();
    const { outcome, call } = await called();
    expect(running.size).toBe(1);
    call.answer(finish);
    await outcome;
    expect(running.size).toBe(0);
  });

  it('leaves an end alone that somebody else wrote first', async () => {
    const { log, observed, answered } = setUp();
    log.endResult = 'terminal';
    expect(await answered(text('late'), finish)).toEqual({ kind: 'settled' });
    expect(observed).not.toContain('ended completed');
  });
});

describe('a failure before anything is visible', () => {
  it('leads to another attempt, of which the client learns nothing', async () => {
    const { log, provider, execute, observed } = setUp();
    const outcome = execute();
    (await provider.call(0)).fail(retryable());
    const second = await provider.call(1);
    expect(second.call.attempt).toBe(2);
    second.answer(text('Hello'), finish);
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(log.end).toMatchObject({ status: 'completed' });
    expectSoundStream(log);
    expect(observed).toContain('retried upstream_error');
  });

  it('fails the response when the attempts are used up', async () => {
    const { log, provider, execute } = setUp({ maxAttempts: 3 });
    const outcome = execute();
    for (const at of [0, 1, 2]) (await provider.call(at)).fail(retryable('server_is_overloaded'));
    expect(await outcome).toEqual({ kind: 'failed', code: 'server_is_overloaded' });
    expect(provider.calls).toHaveLength(3);
    expect(log.end).toMatchObject({ status: 'failed', error: { code: 'server_is_overloaded' }, output: [] });
    expect(typesOf(log)).toEqual(['error']);
  });

  it('is not retried when another attempt cannot help', async () => {
    const { log, provider, failed } = setUp();
    expect(await failed(final('invalid_prompt'))).toEqual({ kind: 'failed', code: 'invalid_prompt' });
    expect(provider.calls).toHaveLength(1);
    expect(log.end).toMatchObject({ status: 'failed', error: { code: 'invalid_prompt' } });
  });

  it('is retried after output that only a later end would have shown', async () => {
    const { log, provider, execute } = setUp({ streams: false });
    const outcome = execute();
    const first = await provider.call(0);
    first.send(text('Half an ans'));
    first.fail(retryable());
    (await provider.call(1)).answer(text('Whole'), finish);
    await outcome;
    expect(log.end?.output).toMatchObject([{ content: [{ text: 'Whole' }] }]);
  });

  it('moves on to the next upstream, and back to the first', async () => {
    const { providers, execute } = setUp({ upstreams: 2, maxAttempts: 3 });
    const [first, second] = providers;
    const outcome = execute();
    (await first?.call(0))?.fail(brokeOff());
    const failedOver = await second?.call(0);
    expect(failedOver?.call).toMatchObject({ model: 'upstream-1', attempt: 2 });
    failedOver?.fail(brokeOff());
    (await first?.call(1))?.answer(finish);
    expect(await outcome).toEqual({ kind: 'settled' });
  });

  it('moves on to the next upstream at once, whatever the first one asked for', async () => {
    const { provider, second, execute } = setUp({ upstreams: 2 });
    const outcome = execute();
    (await provider.call(0)).fail(
      new ProviderError('server_is_overloaded', 'busy', { disposition: 'retry', retryAfterMs: 3_600_000 }),
    );
    (await second.call(0)).answer(finish);
    await outcome;
  });

  it('counts an end without a reason to finish as one', async () => {
    const { log, provider, execute } = setUp({ upstreams: 2, maxAttempts: 1 });
    const outcome = execute();
    (await provider.call(0)).end();
    expect(await outcome).toEqual({ kind: 'failed', code: 'upstream_error' });
    expect(log.end).toMatchObject({ status: 'failed', error: { code: 'upstream_error' } });
  });

  it('of a kind nobody foresaw is ours, and is logged as an error', async () => {
    const { log, logged, failed } = setUp({ maxAttempts: 1 });
    expect(await failed(new TypeError('x is undefined'))).toEqual({ kind: 'failed', code: 'server_error' });
    expect(logged).toMatchObject([{ level: 'error', message: 'attempt failed' }]);
    expect(log.end?.error?.message).not.toContain('undefined');
  });

  it.each([
    ['cannot be found', { kind: 'broken', missingId: 'create-response_gone' }, 'previous_response_not_found'],
    ['exceeds the limits', { kind: 'too_large' }, 'context_length_exceeded'],
  ] as const)('because what the response continues from %s ends it', async (_, contextRead, code) => {
    const { log, provider, execute } = setUp();
    log.contextRead = contextRead;
    expect(await execute()).toEqual({ kind: 'failed', code });
    expect(provider.calls).toEqual([]);
  });

  it('without any route to the model ends the response', async () => {
    const { log, execute, dependencies } = setUp();
    dependencies.models = { use: () => ({ routes: [], end: () => undefined }) };
    expect(await execute()).toEqual({ kind: 'failed', code: 'server_error' });
    expect(log.end?.status).toBe('failed');
  });

  it('is not begun in a process that does not know its model, which leaves the response to others', async () => {
    const { log, provider, execute, dependencies, observed } = setUp();
    dependencies.models = { use: () => undefined };
    expect(await execute()).toEqual({ kind: 'later', afterMs: 100 });
    expect(observed).toEqual(['postponed model']);
    expect(log.end).toBeUndefined();
    expect(provider.calls).toEqual([]);
  });

  it('keeps the routes of its response when the model changes, and says when it uses them no longer', async () => {
    const { second, dependencies, usesEnded, called } = setUp({ upstreams: 2 });
    const { outcome, call } = await called();
    dependencies.models = { use: () => undefined };
    call.fail(refused());
    const other = await second.call(0);
    expect(usesEnded).toEqual([]);
    other.answer(text('Hello'), finish);
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(usesEnded).toEqual(['m']);
  });
});

/** An upstream that has begun no generation. */
const refused = (fault: 'refused' | 'unreachable' = 'refused') =>
  new ProviderError('upstream_error', 'down', { disposition: 'retry', fault, retryAfterMs: 0 });
/** An upstream that took the request and broke. */
const brokeOff = () =>
  new ProviderError('upstream_error', 'broke', { disposition: 'retry', fault: 'broken', retryAfterMs: 0 });
const limited = (retryAfterMs: number) =>
  new ProviderError('server_is_overloaded', 'busy', { disposition: 'retry', fault: 'limited', retryAfterMs });

describe('an upstream that refuses before any output', () => {
  it('gives way to every other route within one attempt', async () => {
    const { log, upstream, execute, observed } = setUp({ upstreams: 4, maxAttempts: 1 });
    const outcome = execute();
    for (const at of [0, 1, 2])
      (await upstream(at).call(0)).fail(refused(at === 1 ? 'unreachable' : 'refused'));
    const last = await upstream(3).call(0);
    expect(last.call.attempt).toBe(1);
    last.answer(text('Hello'), finish);
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(log.end?.status).toBe('completed');
    expect(log.attempt).toBe(1);
    expect(observed).toEqual(['started', 'first token', 'ended completed']);
  });

  it('is called again with the next attempt alone, when all others refuse as well', async () => {
    const { upstream, execute } = setUp({ upstreams: 3, maxAttempts: 2 });
    const outcome = execute();
    for (const at of [0, 1, 2]) (await upstream(at).call(0)).fail(refused());
    (await upstream(0).call(1)).fail(refused());
    expect(await outcome).toEqual({ kind: 'failed', code: 'upstream_error' });
    expect([0, 1, 2].map((at) => upstream(at).calls.length)).toEqual([2, 1, 1]);
  });

  it('is no refusal once it has begun to answer', async () => {
    const { upstream, execute } = setUp({ upstreams: 3, maxAttempts: 2, streams: false });
    const outcome = execute();
    const first = await upstream(0).call(0);
    first.send(text('Half'));
    first.fail(refused());
    const second = await upstream(1).call(0);
    expect(second.call.attempt).toBe(2);
    second.fail(brokeOff());
    expect(await outcome).toEqual({ kind: 'failed', code: 'upstream_error' });
    expect(upstream(2).calls).toEqual([]);
  });

  it('is skipped from the start once its breaker is open', async () => {
    const { upstream, execute, health, route } = setUp({ upstreams: 2, consecutiveFailures: 1 });
    health.begin(route, neighbour(health))?.failed(refused());
    const outcome = execute();
    (await upstream(1).call(0)).answer(finish);
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(upstream(0).calls).toEqual([]);
  });
});

describe('a response that its upstream limits each time', () => {
  function answerOthers({ health, pass, route }: ReturnType<typeof setUp>): void {
    for (let answers = 0; answers < 3; answers += 1) {
      health.begin(route, neighbour(health, 'other'))?.succeeded();
      pass(1_000);
    }
  }

  /** Its first call is limited, and then others are answered. */
  async function setUpLimited(options: SetUpOptions = {}) {
    const world = setUp(options);
    expect(await world.failed(limited(8_000))).toEqual({ kind: 'later', afterMs: 8_000 });
    world.pass(8_250);
    answerOthers(world);
    return world;
  }

  it('fails with the second refusal while others are answered, and parks the route for none of them', async () => {
    const { log, health, route, failed } = await setUpLimited();
    expect(await failed(limited(8_000))).toEqual({ kind: 'failed', code: 'server_is_overloaded' });
    expect(log.end?.error?.code).toBe('server_is_overloaded');
    for (const tenant of ['team', 'other'])
      expect(health.blockOf(route, neighbour(health, tenant))?.because).not.toBe('parked');
    expect(health.status()[0]?.routes[0]?.parkedMs).toBe(0);
  });

  it('tells its next worker so by its record', async () => {
    const { log } = await setUpLimited();
    expect(log.limited).toEqual({ count: 1, at: 5_500 });
  });

  /** It was limited by another worker before, and others were answered since. */
  function setUpLimitedBefore(options: SetUpOptions = {}) {
    const world = setUp(options);
    world.log.limited = { count: 1, at: 5_000 };
    answerOthers(world);
    return world;
  }

  it('is known to the next worker, where its first call is the second', async () => {
    const { failed } = setUpLimitedBefore();
    expect(await failed(limited(8_000))).toEqual({ kind: 'failed', code: 'server_is_overloaded' });
  });

  it('goes to its other route', async () => {
    const { log, second, execute, provider } = setUpLimitedBefore({ upstreams: 2 });
    const outcome = execute();
    (await provider.call(0)).fail(limited(8_000));
    (await second.call(0)).answer(text('Hello'), finish);
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(log.end?.status).toBe('completed');
  });

  it('goes to no other route with half of an answer', async () => {
    const { log, second, called } = setUpLimitedBefore({ upstreams: 2 });
    const { outcome, call } = await called();
    call.send(text('Half an'));
    await eventually(() => typesOf(log).includes('response.output_text.delta'));
    call.fail(limited(8_000));
    expect(await outcome).toMatchObject({ kind: 'failed' });
    expect(log.end).toMatchObject({ status: 'failed', output: [{ content: [{ text: 'Half an' }] }] });
    expect(second.calls).toEqual([]);
    expectSoundStream(log);
  });
});

describe('a worker without room for an input', () => {
  it('gives the response back, uncounted, and runs it when it comes again', async () => {
    const { id, log, execute, observed, dependencies, called } = setUp({ maxAttempts: 1 });
    log.nextClaim = 'no_room';
    expect(await execute()).toMatchObject({ kind: 'later', afterMs: expect.any(Number) });
    const released = { attempt: 0, releases: 1, isReachable: true, isUnbegun: true };
    expect(log).toMatchObject({ ...released, end: undefined });
    expect(observed).toContain('postponed memory');
    expect(dependencies.postponed.size).toBe(1);
    expect([...dependencies.waitsForRoom.inOrder()]).toMatchObject([{ id, bytes: 1_000_000 }]);
    const { outcome, call } = await called();
    expect([...dependencies.waitsForRoom.inOrder()]).toEqual([]);
    call.answer(text('Hello'), finish);
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(dependencies.postponed.delete(id)).toBe(false);
  });

  it('keeps its place in the line for room when it is put behind others', async () => {
    const { id, log, execute, dependencies } = setUp();
    log.nextClaim = 'no_room';
    await execute();
    log.nextClaim = 'overtaken';
    expect(await execute()).toEqual({ kind: 'later', afterMs: 0, priority: 1 });
    expect([...dependencies.waitsForRoom.inOrder()]).toMatchObject([{ id }]);
  });

  it.each(['held', 'terminal', 'cancelled'] as const)(
    'has room kept for none that comes back %s',
    async (claim) => {
      const { log, execute, dependencies } = setUp();
      log.nextClaim = 'no_room';
      await execute();
      log.nextClaim = claim;
      await execute();
      expect([...dependencies.waitsForRoom.inOrder()]).toEqual([]);
    },
  );

  it('comes back later the more responses wait for room, and not the more wait for their upstreams', async () => {
    const { id, log, execute, dependencies } = setUp();
    const delay = async () => {
      log.nextClaim = 'no_room';
      const outcome = await execute();
      return outcome.kind === 'later' ? outcome.afterMs : Number.NaN;
    };
    const alone = await delay();
    for (let at = 0; at < 10_000; at += 1) dependencies.postponed.add(`parked ${at}`, 60_000);
    expect(await delay()).toBe(alone);
    // It is in front of those that come now.
    dependencies.waitsForRoom.delete(id);
    for (let at = 0; at < 10_000; at += 1)
      dependencies.waitsForRoom.add({ id: `large ${at}`, tenant: 'team', bytes: 1_000_000 }, 1_000);
    expect(await delay()).toBeGreaterThanOrEqual(30_000);
  });

  it('has the room of an attempt again when that is over', async () => {
    const { id, dependencies, log, called } = setUp();
    const { outcome, call } = await called();
    const { inputBudget } = dependencies;
    const wanted = { id, token: log.token, tenant: 'hostile', bytes: 900_000 };
    expect(inputBudget.take(wanted)).toBe(true);
    expect(inputBudget.held()).toBeGreaterThan(0);
    call.answer(finish);
    await outcome;
    expect(inputBudget.held()).toBe(0);
  });
});

describe('a model whose upstreams all take no calls', () => {
  it('has its response given back when one has said when to come back, and no attempt counts', async () => {
    const { id, log, heldQueues, observed, dependencies, failed } = setUp();
    expect(await failed(limited(8_000))).toEqual({ kind: 'later', afterMs: 8_000 });
    expect(log).toMatchObject({ attempt: 0, releases: 1, isReachable: true, end: undefined });
    expect(heldQueues).toEqual(['m']);
    expect(observed).toContain('postponed parked');
    expect(dependencies.postponed.delete(id)).toBe(true);
  });

  it.each([true, false])(
    'leaves its time to run to one in the background (%s) that called none',
    async (background) => {
      const { log, provider, execute, health, route } = setUp({ request: { background } });
      health.begin(route, neighbour(health))?.failed(limited(8_000));
      expect(await execute()).toEqual({ kind: 'later', afterMs: 8_000 });
      expect(provider.calls).toEqual([]);
      expect(log).toMatchObject({ attempt: 0, releases: 1, isReachable: true, isUnbegun: background });
    },
  );

  it('has the response run again when its time has come', async () => {
    const { id, log, pass, dependencies, called, failed } = setUp({ maxAttempts: 1 });
    await failed(limited(8_000));
    pass(8_250);
    const { outcome: second, call } = await called();
    expect(call.call.attempt).toBe(1);
    call.answer(finish);
    expect(await second).toEqual({ kind: 'settled' });
    expect(log.end?.status).toBe('completed');
    expect(dependencies.postponed.delete(id)).toBe(false);
  });

  it('is said to be overloaded at once when the wait is longer than the time the response has', async () => {
    const { log, logged, failed } = setUp({ remainingMs: 5_000 });
    expect(await failed(limited(8_000))).toEqual({ kind: 'failed', code: 'server_is_overloaded' });
    expect(log.end?.error?.code).toBe('server_is_overloaded');
    expect(logged.at(-1)).toMatchObject({ fields: { because: 'upstreams_parked' } });
  });

  it('waits for a limited route rather than fail, although another has refused the last attempt', async () => {
    const { provider, second, execute } = setUp({ upstreams: 2, maxAttempts: 1 });
    const outcome = execute();
    (await provider.call(0)).fail(limited(8_000));
    (await second.call(0)).fail(refused());
    expect(await outcome).toEqual({ kind: 'later', afterMs: 8_000 });
  });

  it.each([
    ['waits, as long as they are down for a short time', {}, 0, { kind: 'later', afterMs: 5_000 }],
    ['fails at once, when they are down for long', {}, 5_000, { kind: 'failed', code: 'upstream_error' }],
    [
      'waits however long it takes, when nobody waits for it',
      { background: true },
      5_000,
      { kind: 'later', afterMs: 10_000 },
    ],
  ] as const)('and are down: a response %s', async (_name, request, downMs, expected) => {
    const { provider, execute, health, pass, route } = setUp({ request, consecutiveFailures: 1 });
    health.begin(route, neighbour(health))?.failed(refused());
    pass(downMs);
    if (downMs > 0) health.begin(route, neighbour(health))?.failed(refused());
    expect(await execute()).toEqual(expected);
    expect(provider.calls).toEqual([]);
  });

  it('and are down: a response waits for as long as it may take, where no bound is set', async () => {
    const { execute, health, pass, dependencies, route } = setUp({
      consecutiveFailures: 1,
      remainingMs: 60_000,
    });
    dependencies.openWaitMs = Number.POSITIVE_INFINITY;
    for (let probes = 0; probes < 3; probes += 1) {
      health.begin(route, neighbour(health))?.failed(refused());
      expect(await execute()).toEqual({ kind: 'later', afterMs: 5_000 * 2 ** probes });
      pass(5_000 * 2 ** probes);
    }
  });

  it('lets another worker try soon when this one takes no jobs meanwhile', async () => {
    const { execute, health, dependencies, route } = setUp({ consecutiveFailures: 1 });
    dependencies.holdQueue = () => 5_000;
    health.begin(route, neighbour(health))?.failed(refused());
    expect(await execute()).toEqual({ kind: 'later', afterMs: 1_000 });
  });

  it('keeps half of the slots for responses whose routes take calls', async () => {
    const { execute, health, route } = setUp({ slots: 4, consecutiveFailures: 1 });
    health.begin(route, neighbour(health))?.failed(
      new ProviderError('server_is_overloaded', 'busy', {
        disposition: 'retry',
        fault: 'limited',
        retryAfterMs: 2_000,
      }),
    );
    const stop = new AbortController();
    const waiting = [1, 2].map(() =>
      health.waitForTurn(neighbour(health), [route], { atMostMs: 60_000, signal: stop.signal }),
    );
    expect(await execute()).toEqual({ kind: 'later', afterMs: 2_000 });
    stop.abort();
    await Promise.all(waiting);
    expect(health.mayWaitFor(route)).toBe(true);
  });

  it('waits for the outcome when another response was quicker to try an upstream that may be back', async () => {
    const { log, provider, execute, health, pass, route } = setUp({
      consecutiveFailures: 1,
      maxAttempts: 1,
    });
    health.begin(route, neighbour(health))?.failed(refused());
    pass(5_000);
    let looks = 0;
    const isBlocked = Promise.withResolvers<void>();
    let probe: ReturnType<typeof health.begin>;
    const blockOf = health.blockOf.bind(health);
    health.blockOf = (each, response) => {
      const block = blockOf(each, response);
      // Between the last look at a route and its call: the first one is before the context is read.
      looks += 1;
      if (looks === 2) probe = health.begin(each, neighbour(health));
      if (block) isBlocked.resolve();
      return block;
    };
    const outcome = execute();
    await isBlocked.promise;
    expect(provider.calls).toEqual([]);
    probe?.answered(() => 1);
    (await provider.call(0)).answer(text('Hello'), finish);
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(log.end?.status).toBe('completed');
  });

  it('ends a response that is cancelled while it is given back', async () => {
    const { id, log, running, failed } = setUp();
    const release = log.release.bind(log);
    log.release = (held, options) => {
      log.isCancelled = true;
      running.abort(id, 'cancelled');
      return release(held, options);
    };
    expect(await failed(limited(8_000))).toEqual({ kind: 'settled' });
    expect(log.end?.status).toBe('cancelled');
  });

  it('gives a response back to another worker when the process stops while it waits', async () => {
    const { log, provider, execute, running, health } = setUp();
    const outcome = execute();
    (await provider.call(0)).fail(limited(2_000));
    await eventually(() => health.status()[0]?.routes[0]?.parkedMs === 2_000);
    running.interruptAll();
    expect(await outcome).toEqual({ kind: 'given_back' });
    expect(log.releases).toBe(1);
  });
});

describe('a response that waits for its turn', () => {
  /** Its upstream takes one call at a time, and has one. */
  function setUpBusy(options: SetUpOptions = {}) {
    const world = setUp({ ...options, slots: 1 });
    const call = world.health.begin(world.route, neighbour(world.health));
    const waiting = () => world.health.status()[0]?.routes[0]?.waiting;
    return { ...world, call, waiting };
  }

  it('is called when the call before it is over, however that ended', async () => {
    const { log, provider, execute, call, waiting } = setUpBusy();
    const outcome = execute();
    await eventually(() => waiting() === 1);
    expect(provider.calls).toEqual([]);
    call?.failed(retryable());
    (await provider.call(0)).answer(text('Hello'), finish);
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(log.end?.status).toBe('completed');
    expect(waiting()).toBe(0);
  });

  it('goes to another route that has room', async () => {
    const { provider, second, execute, waiting } = setUpBusy({ upstreams: 2 });
    const outcome = execute();
    (await second.call(0)).answer(finish);
    await outcome;
    expect(provider.calls).toEqual([]);
    expect(waiting()).toBe(0);
  });

  it('ends at once when it is cancelled, and leaves the line', async () => {
    const { id, log, execute, running, waiting } = setUpBusy();
    const outcome = execute();
    await eventually(() => waiting() === 1);
    running.abort(id, 'cancelled');
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(log.end?.status).toBe('cancelled');
    expect(waiting()).toBe(0);
  });

  it('ends when its time is over', async () => {
    const { log, execute, waiting } = setUpBusy({ remainingMs: 50 });
    await execute();
    expect(log.end).toMatchObject({ status: 'failed', error: { code: 'timeout' } });
    expect(waiting()).toBe(0);
  });

  it('goes back to its queue, and holds it, when the line is full; no attempt is used up', async () => {
    const { log, execute, heldQueues, health, route, observed } = setUpBusy();
    const other = neighbour(health);
    const stop = new AbortController();
    const standing = health.waitForTurn(other, [route], { atMostMs: 60_000, signal: stop.signal });
    expect(await execute()).toMatchObject({ kind: 'later' });
    expect(heldQueues).toEqual(['m']);
    expect(observed).toEqual(['postponed busy']);
    expect(log.releases).toBe(1);
    stop.abort();
    await standing;
  });

  it('gives its place up when a call rejects for a reason of our own', async () => {
    const { call, health, waiting, failed } = setUpBusy({ maxAttempts: 1 });
    call?.abandoned();
    await failed(new TypeError('a defect'));
    expect(health.status()[0]?.routes[0]).toMatchObject({ inFlight: 0, waiting: 0 });
    expect(waiting()).toBe(0);
  });
});

describe('a failure after output was visible', () => {
  it('is never retried: open items are closed, and the error comes before the end', async () => {
    const { log, provider, called } = setUp();
    const { outcome, call } = await called();
    call.send(text('Half an ans'));
    call.fail(retryable());
    expect(await outcome).toEqual({ kind: 'failed', code: 'upstream_error' });
    expect(provider.calls).toHaveLength(1);
    expect(typesOf(log).slice(-4)).toEqual([
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'error',
    ]);
    expect(log.end).toMatchObject({
      status: 'failed',
      output: [{ status: 'incomplete', content: [{ text: 'Half an ans' }] }],
    });
    expectSoundStream(log);
  });

  it('is never retried, whatever the upstream asked for', async () => {
    const { provider, called } = setUp();
    const { outcome, call } = await called();
    call.send(text('Half'));
    call.fail(limited(100));
    expect(await outcome).toEqual({ kind: 'failed', code: 'server_is_overloaded' });
    expect(provider.calls).toHaveLength(1);
  });

  it('counts an end without a reason to finish as one', async () => {
    const { log, answered } = setUp();
    expect(await answered(text('Half'))).toEqual({ kind: 'failed', code: 'upstream_error' });
    expect(log.end?.status).toBe('failed');
    expectSoundStream(log);
  });
});

describe('what a client is told of a failure', () => {
  it('is a fixed sentence with the request id, and nothing of the upstream', async () => {
    const { log, failed } = setUp({ maxAttempts: 1 });
    await failed(retryable());
    expect(log.end?.error?.message).toBe(
      'The model server could not be reached or answered with an error. Request id: req_1.',
    );
    expect(JSON.stringify([log.end, log.events])).not.toMatch(/10\.0\.0\.7|sk-secret/);
  });

  it('is the sentence the provider wrote for it where there is one, and the parameter', async () => {
    const { log, failed } = setUp();
    await failed(
      new ProviderError('invalid_prompt', 'internal', {
        disposition: 'fail',
        publicMessage: 'Only data URLs are allowed.',
        param: 'input',
      }),
    );
    expect(log.end?.error).toMatchObject({
      message: 'Only data URLs are allowed. Request id: req_1.',
      param: 'input',
    });
  });
});

describe('a cancellation', () => {
  it('before the first token ends the response without output', async () => {
    const { id, log, running, called } = setUp();
    const { outcome, call } = await called();
    running.abort(id, 'cancelled');
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(await call.ended).toBe('aborted');
    expect(log.end).toMatchObject({ status: 'cancelled', incomplete_details: { reason: 'cancelled' } });
    expect(log.events).toEqual([]);
    expect(log.uncounted).toBeUndefined();
  });

  it('in the middle closes what is open and keeps it', async () => {
    const { id, log, running, called } = setUp();
    const { outcome, call } = await called();
    call.send(text('Half an answer is 28 bytes.'));
    await eventually(() => log.events.length > 0);
    running.abort(id, 'cancelled');
    await outcome;
    // Nobody will count them, and they were sent.
    expect(log.end?.usage).toBeNull();
    expect(log.uncounted).toBeGreaterThanOrEqual(7);
    expect(log.end).toMatchObject({ status: 'cancelled', output: [{ status: 'incomplete' }] });
    expect(typesOf(log)).not.toContain('error');
    expectSoundStream(log);
  });

  it('of the call that finds out whether an upstream is back leaves that to the next call', async () => {
    const { id, provider, execute, running, health, pass, route } = setUp({ consecutiveFailures: 1 });
    health.begin(route, neighbour(health))?.failed(refused());
    pass(5_000);
    const outcome = execute();
    await provider.call(0);
    expect(health.blockOf(route, neighbour(health))).toMatchObject({ because: 'open' });
    running.abort(id, 'cancelled');
    await outcome;
    expect(health.blockOf(route, neighbour(health))).toBeUndefined();
    expect(health.status()[0]?.breaker).toBe('half_open');
  });

  it('during the pause between two attempts ends the pause', async () => {
    const { id, log, provider, execute, running, observed, health, secondRoute } = setUp({
      upstreams: 2,
      consecutiveFailures: 1,
    });
    health.begin(secondRoute, neighbour(health))?.failed(refused());
    const outcome = execute();
    (await provider.call(0)).fail(downForAnHour());
    await eventually(() => observed.includes('retried upstream_error'));
    running.abort(id, 'cancelled');
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(log.end?.status).toBe('cancelled');
    expect(provider.calls).toHaveLength(1);
  });

  it('that an append reports ends the attempt just as well', async () => {
    const { log, halfway } = setUp();
    const { outcome, call } = await halfway();
    log.writerOptions?.onRefused('cancelled');
    await outcome;
    expect(await call.ended).toBe('aborted');
    expect(log.end?.status).toBe('cancelled');
  });

  it('after the last chunk changes nothing', async () => {
    const { id, log, running, answered } = setUp();
    await answered(text('Whole'), finish);
    running.abort(id, 'cancelled');
    expect(log.end?.status).toBe('completed');
  });
});

describe('a response that has used up its time', () => {
  it('fails with a time-out, before the first token', async () => {
    const { log, called } = setUp({ remainingMs: 0 });
    const { outcome, call } = await called();
    expect(await outcome).toEqual({ kind: 'failed', code: 'timeout' });
    expect(await call.ended).toBe('aborted');
    expect(log.end).toMatchObject({ status: 'failed', error: { code: 'timeout' } });
  });

  it('is not tried again', async () => {
    const { provider, execute } = setUp({ remainingMs: -1, maxAttempts: 5 });
    await execute();
    expect(provider.calls).toHaveLength(1);
  });
});

describe('a process that stops', () => {
  it('gives back what nobody has seen anything of, without counting the attempt', async () => {
    const { log, running, called } = setUp();
    const { outcome, call } = await called();
    running.interruptAll();
    expect(await outcome).toEqual({ kind: 'given_back' });
    expect(await call.ended).toBe('aborted');
    expect(log).toMatchObject({ releases: 1, attempt: 0, end: undefined });
  });

  it('gives back what has produced output that nobody can see yet', async () => {
    const { log, provider, execute, running, observed } = setUp({ streams: false });
    const outcome = execute();
    (await provider.call(0)).send(text('Half'));
    await eventually(() => observed.includes('first token'));
    running.interruptAll();
    expect(await outcome).toEqual({ kind: 'given_back' });
    expect(log.end).toBeUndefined();
  });

  it('fails what is visible, by the rules', async () => {
    const { log, running, halfway } = setUp();
    const { outcome } = await halfway();
    running.interruptAll();
    expect(await outcome).toEqual({ kind: 'failed', code: 'server_error' });
    expect(typesOf(log).at(-1)).toBe('error');
    expectSoundStream(log);
  });

  it('gives back what it has claimed too late to run', async () => {
    const { log, provider, execute, running } = setUp();
    running.interruptAll();
    expect(await execute()).toEqual({ kind: 'given_back' });
    expect(provider.calls).toEqual([]);
    expect(log.releases).toBe(1);
  });
});

describe('a lost lease', () => {
  it('stops the upstream and writes nothing more', async () => {
    const { id, log, running, halfway } = setUp();
    const { outcome, call } = await halfway();
    const written = log.events.length;
    running.abort(id, 'superseded');
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(await call.ended).toBe('aborted');
    expect(log.events).toHaveLength(written);
    expect(log.end).toBeUndefined();
  });

  it('that an append reports stops the upstream', async () => {
    const { log, halfway } = setUp();
    const { outcome, call } = await halfway();
    log.token = 'another';
    log.writerOptions?.onRefused('superseded');
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(await call.ended).toBe('aborted');
    expect(log.end).toBeUndefined();
  });

  it('counts for more than a cancellation that comes later', async () => {
    const { id, log, provider, execute, running } = setUp();
    const outcome = execute();
    await provider.call(0);
    running.abort(id, 'superseded');
    running.abort(id, 'cancelled');
    await outcome;
    expect(log.end).toBeUndefined();
  });
});

describe('a store that has lost events', () => {
  it('has the attempt given up, and its response ended by its next claim', async () => {
    const { log, execute, halfway } = setUpWithReleases();
    const { outcome, call } = await halfway();
    log.writerOptions?.onRefused('events_lost');
    expect(await outcome).toMatchObject({ kind: 'later' });
    expect(await call.ended).toBe('aborted');
    await eventually(() => log.token === '');
    expect(log.isShown).toBe(true);
    await execute();
    expect(log.end).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
  });

  it('has its claim given back when it refuses the end alone', async () => {
    const { log, answered } = setUpWithReleases();
    log.endResult = 'gap';
    await answered(text('Whole'), finish);
    await eventually(() => log.token === '');
    expect(log.end).toBeUndefined();
  });
});

describe('a long pause before a retry', () => {
  it('has the response given back, with its attempt counted', async () => {
    const { id, log, observed, dependencies, failed } = setUp();
    expect(await failed(downForAnHour())).toEqual({ kind: 'later', afterMs: 10_000 });
    expect(observed.at(-1)).toBe('retried upstream_error');
    expect(log).toMatchObject({ attempt: 1, releases: 1, isReachable: true, end: undefined });
    expect(dependencies.postponed.delete(id)).toBe(true);
  });

  it('is made in the slot while a route is left to be tried, and half of the slots at most pause', async () => {
    const { health, dependencies, secondRoute, failed } = setUp({
      upstreams: 2,
      consecutiveFailures: 1,
    });
    health.begin(secondRoute, neighbour(health))?.failed(refused());
    const leave = dependencies.retryPauses.enter('m');
    expect(await failed(downForAnHour())).toEqual({ kind: 'later', afterMs: 10_000 });
    expect(dependencies.retryPauses.enter('m')).toBeUndefined();
    expect(dependencies.retryPauses.enter('other')).toBeDefined();
    leave?.();
    expect(dependencies.retryPauses.enter('m')).toBeDefined();
  });
});

describe('a store that has lost the last claim of a response', () => {
  it.each(['an append', 'the end'])('has the one before it given back, as %s reports', async (what) => {
    const { log, provider, execute } = setUpWithReleases();
    const outcome = execute();
    (await provider.call(0)).fail(
      new ProviderError('upstream_error', 'down', { disposition: 'retry', retryAfterMs: 0 }),
    );
    const before = log.token;
    const call = await provider.call(1);
    expect(log.token).not.toBe(before);
    log.token = before;
    if (what === 'the end') {
      call.answer(finish);
    } else log.writerOptions?.onRefused('superseded');
    expect(await outcome).toEqual({ kind: 'settled' });
    await eventually(() => log.token === '');
    expect(log.end).toBeUndefined();
  });

  it.each(['superseded', 'out_of_touch', 'events_lost', 'unwritable'] as const)(
    'has the one before it marked as shown where a reader may have seen output, once the attempt is %s',
    async (reason) => {
      const { id, log, provider, execute, running } = setUp();
      const outcome = execute().catch((error: unknown) => error);
      (await provider.call(0)).fail(retryable());
      const before = log.token;
      (await provider.call(1)).send(text('Half'));
      await eventually(() => log.events.length > 0);
      log.token = before;
      log.events.length = 0;
      log.defect = reason === 'unwritable' ? new TypeError('The append script answered nonsense') : undefined;
      running.abort(id, reason);
      await outcome;
      // It releases what is to be released.
      await running.stop();
      expect([log.token, log.isShown]).toEqual(['', true]);
    },
  );
});

describe('a store that stays silent', () => {
  it('has the attempt given up, its job kept, and its claim given back when the store answers', async () => {
    const { id, log, running, called } = setUpWithReleases();
    const { outcome, call } = await called();
    running.abort(id, 'out_of_touch');
    expect(await outcome).toMatchObject({ kind: 'later' });
    expect(await call.ended).toBe('aborted');
    await eventually(() => log.token === '');
    expect(log.attempt).toBe(1);
    expect(log.isShown).toBe(false);
  });

  it('has its response ended by its next claim once a reader may have seen output, whatever the store still has', async () => {
    const { id, log, running, halfway } = setUpWithReleases();
    const { outcome } = await halfway();
    running.abort(id, 'out_of_touch');
    expect(await outcome).toMatchObject({ kind: 'later' });
    await eventually(() => log.token === '');
    expect(log.isShown).toBe(true);
  });
});

describe('a store that is silent for a while', () => {
  const timedOut = () => Promise.reject(new Error('Command timed out'));

  it('costs no attempt when a response cannot be given back', async () => {
    const { log, pass, called, failed } = setUp({ maxAttempts: 1 });
    const release = log.release.bind(log);
    log.release = timedOut;
    expect(await failed(limited(8_000))).toEqual({ kind: 'later', afterMs: 8_000 });
    log.release = release;
    pass(8_250);
    const { outcome: second, call } = await called();
    expect(call.call.attempt).toBe(1);
    call.answer(finish);
    expect(await second).toEqual({ kind: 'settled' });
    expect(log.end?.status).toBe('completed');
  });

  it('costs no attempt when the context cannot be read', async () => {
    const { log, called } = setUp({ maxAttempts: 1 });
    const readContext = log.readContext.bind(log);
    log.readContext = () => {
      log.readContext = readContext;
      return timedOut();
    };
    const { outcome, call } = await called();
    expect(call.call.attempt).toBe(1);
    call.answer(finish);
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(log.end?.status).toBe('completed');
  });
});

describe('a response that is only to be ended', () => {
  it('is given back when what it wrote cannot be read', async () => {
    const { log, execute, halfway } = setUpWithReleases();
    const { outcome: first } = await halfway();
    log.writerOptions?.onRefused('superseded');
    await first;
    await eventually(() => log.token === '');
    log.isShown = false;
    const readContentEvents = log.readContentEvents.bind(log);
    log.readContentEvents = () => Promise.reject(new Error('Command timed out'));
    await expect(execute()).rejects.toThrow('Command timed out');
    await eventually(() => log.token === '');
    expect(log.isShown).toBe(true);
    log.readContentEvents = readContentEvents;
    await execute();
    expect(log.end).toMatchObject({ status: 'failed' });
  });
});

describe('a claim without an answer', () => {
  it('is given up when the store has been silent for too long, however long each try took', async () => {
    const { log, execute, pass } = setUpWithReleases();
    const claim = log.claim.bind(log);
    let tries = 0;
    log.claim = (...args) => {
      tries += 1;
      pass(30_000);
      return claim(...args).then(() => Promise.reject(new Error('no answer')));
    };
    await expect(execute()).rejects.toThrow('no answer');
    expect(tries).toBe(2);
    log.claim = claim;
    // The lease that it may have taken is released.
    await eventually(() => log.token === '');
  });
});

describe('a response that a worker holds', () => {
  it('is looked at again later', async () => {
    const { log, provider, execute } = setUp();
    log.nextClaim = 'held';
    expect(await execute()).toMatchObject({ kind: 'later' });
    expect(provider.calls).toEqual([]);
  });
});

describe('a response whose last run died with its process', () => {
  it('runs in another process, which claims it for itself', async () => {
    const { log, provider, execute, dependencies } = setUp();
    log.losses = 1;
    const isolated: [string, number][] = [];
    dependencies.isolate = ({ responseId, losses }) => {
      expect(log.releases).toBe(1);
      isolated.push([responseId, losses]);
      return Promise.resolve({ kind: 'settled' });
    };
    expect(await execute()).toEqual({ kind: 'settled' });
    expect(isolated).toEqual([[log.id, 1]]);
    expect(log.attempt).toBe(0);
    expect(provider.calls).toEqual([]);
  });

  it('waits while there is no place for it', async () => {
    const { log, provider, execute, dependencies } = setUp();
    log.losses = 1;
    dependencies.isolate = () => undefined;
    expect(await execute()).toMatchObject({ kind: 'later' });
    expect(log.releases).toBe(1);
    expect(provider.calls).toEqual([]);
  });

  it('runs where it is once it is there', async () => {
    const { log, answered } = setUp();
    log.losses = 1;
    expect(await answered(text('Hello'), finish)).toEqual({ kind: 'settled' });
  });
});

describe('a log that cannot be written, for a reason of our own', () => {
  it('ends the attempt, and the defect reaches whoever runs it', async () => {
    const { log, running, called } = setUpWithReleases();
    const { outcome, call } = await called();
    log.defect = new TypeError('The append script answered nonsense');
    call.send(text('Half'));
    await expect(outcome).rejects.toBe(log.defect);
    expect(await call.ended).not.toBe('finished');
    expect(log.end).toBeUndefined();
    expect(running.size).toBe(0);
    await eventually(() => log.token === '');
    expect(log.isShown).toBe(true);
  });
});

describe('a job', () => {
  it.each(['missing', 'terminal'] as const)('of a %s response is done', async (kind) => {
    const { log, provider, execute } = setUp();
    log.nextClaim = kind;
    expect(await execute()).toEqual({ kind: 'settled' });
    expect(provider.calls).toEqual([]);
  });

  it('of another release goes back to the queue', async () => {
    const { log, execute } = setUp();
    log.nextClaim = 'unknown_version';
    expect(await execute()).toEqual({ kind: 'later', afterMs: 100 });
  });

  it('delivered a second time finds nothing to run', async () => {
    const { log, provider, execute, answered } = setUp();
    await answered(finish);
    expect(await execute()).toEqual({ kind: 'settled' });
    expect(provider.calls).toHaveLength(1);
    expect(log.claims).toEqual(['run', 'nothing']);
  });
});

describe('a response that must not run', () => {
  it('is cancelled when nobody waits for it', async () => {
    const { log, provider, execute, observed } = setUp();
    log.nextClaim = 'cancelled';
    expect(await execute()).toEqual({ kind: 'settled' });
    expect(log.end).toMatchObject({ status: 'cancelled', output: [] });
    expect(provider.calls).toEqual([]);
    expect(observed).toEqual(['ended cancelled']);
  });

  it.each([
    ['expired', 'timeout'],
    ['exhausted', 'server_error'],
  ] as const)('fails when it is %s, with the error event first', async (because, code) => {
    const { log, provider, execute } = setUp();
    log.nextClaim = because;
    expect(await execute()).toEqual({ kind: 'failed', code });
    expect(log.end).toMatchObject({ status: 'failed', error: { code } });
    expect(typesOf(log)).toEqual(['error']);
    expect(provider.calls).toEqual([]);
  });

  it.each(['superseded', 'terminal'] as const)(
    'is no failure to the queue when its end is not the one that counts: %s',
    async (result) => {
      const { log, execute, observed } = setUp();
      log.nextClaim = 'expired';
      log.endResult = result;
      expect(await execute()).toEqual({ kind: 'settled' });
      expect(observed).toEqual([]);
    },
  );

  it('ends with what a dead attempt left, wherever that broke off', async () => {
    const whole = await eventsOfAnAttempt();
    for (let cut = 1; cut <= whole.length; cut += 1) {
      const { log, provider, execute } = setUp();
      log.events.push(...structuredClone(whole.slice(0, cut)));
      log.nextClaim = 'broken_off';
      expect(await execute()).toEqual({ kind: 'failed', code: 'server_error' });
      expectSoundStream(log);
      expect(typesOf(log).at(-1)).toBe('error');
      expect(log.end?.error?.message).toMatch(/partial.*retry is safe/);
      expect(provider.calls).toEqual([]);
    }
  });

  it.each(['broken_off', 'expired', 'cancelled'] as const)(
    'has the output that a dead attempt left counted when it ends as %s',
    async (because) => {
      const { log, execute } = setUp();
      log.events.push(...(await eventsOfAnAttempt()));
      log.nextClaim = because;
      await execute();
      expect(log.end?.usage).toBeNull();
      // Its input is 100 by its record.
      expect(log.uncounted).toBeGreaterThan(100);
    },
  );

  it('has nothing counted when a dead attempt left no output', async () => {
    const { log, execute } = setUp();
    log.nextClaim = 'expired';
    await execute();
    expect(log.uncounted).toBeUndefined();
  });

  it('says its error once, although the dead attempt had come that far', async () => {
    const { log, execute } = setUp();
    log.events.push({ ...errorEvent(failureBody('upstream_error')), sequence_number: 3 });
    log.nextClaim = 'broken_off';
    await execute();
    expect(typesOf(log)).toEqual(['error']);
  });
});

/** Every kind of item, as an attempt writes it. */
async function eventsOfAnAttempt(): Promise<ContentEvent[]> {
  const { log, answered } = setUp();
  await answered(
    { type: 'reasoning_summary', delta: 'a' },
    { type: 'reasoning_text', delta: 'b' },
    text('c'),
    { type: 'refusal', delta: 'd' },
    { type: 'function_call', callKey: '0', name: 'f' },
    { type: 'function_call', callKey: '1', name: 'g' },
    { type: 'function_arguments', callKey: '0', delta: '{}' },
    { type: 'function_arguments', callKey: '1', delta: '{}' },
    { type: 'finish', reason: 'function_call' },
  );
  return log.events;
}

describe('an answer that exceeds a limit', () => {
  const call = (callKey: string): ProviderChunk => ({ type: 'function_call', callKey, name: 'f' });
  const logprob = { token: 'a', logprob: -1, bytes: [97], top_logprobs: [] };
  const withLogprobs: ProviderChunk = { type: 'text', delta: 'a', logprobs: [logprob, logprob] };
  const annotation = { type: 'url_citation', url: 'x'.repeat(60) };

  it.each<[string, keyof OutputLimits, number, ProviderChunk[]]>([
    ['bytes of text', 'outputBytes', 99, Array.from({ length: 10 }, () => text('äääää'))],
    [
      'bytes of arguments',
      'outputBytes',
      99,
      [call('0'), { type: 'function_arguments', callKey: '0', delta: 'x'.repeat(100) }],
    ],
    ['bytes of control characters', 'outputBytes', 99, [text('\u0001'.repeat(20))]],
    ['bytes of logprobs', 'outputBytes', 99, [withLogprobs]],
    [
      'bytes of annotations',
      'outputBytes',
      99,
      [text('a'), { type: 'annotation', annotation }, { type: 'annotation', annotation }],
    ],
    ['items', 'outputItems', 2, [text('a'), call('0'), call('1')]],
    ['events', 'outputEvents', 4, [text('a'), text('b'), text('c')]],
  ])('is broken off at its %s, without a retry', async (_, name, limit, chunks) => {
    for (const streams of [true, false]) {
      const { log, provider, execute } = setUp({ streams, outputLimits: { [name]: limit } });
      const outcome = execute();
      const said = await provider.call(0);
      // The upstream would go on for ever.
      said.send(...chunks);
      expect(await outcome).toEqual({ kind: 'failed', code: 'upstream_error' });
      expect(await within(said.ended)).toBe('left');
      expect(provider.calls).toHaveLength(1);
      expect(log.end).toMatchObject({ status: 'failed', error: { code: 'upstream_error' } });
      expect(log.end?.error?.message).toContain(`${limit} `);
      expect(log.end?.error?.message).toContain(`'limits.${name}'`);
      if (streams) expectSoundStream(log);
    }
  });

  it('may be as large as the limits say', async () => {
    const { log, answered } = setUp({
      outputLimits: { outputBytes: 12, outputItems: 2, outputEvents: 9 },
    });
    expect(
      await answered(
        text('12345'),
        text('67890'),
        call('0'),
        { type: 'function_arguments', callKey: '0', delta: '1' },
        finish,
      ),
    ).toEqual({ kind: 'settled' });
    expect(log.end).toMatchObject({ status: 'completed', output: [{}, {}] });
  });
});

describe('large answers together', () => {
  const budget = { bytes: 40_000, freeBytes: 2_000 };
  const piece = text('x'.repeat(1_000));

  /** Attempts of one process, each with a log and an upstream of its own. */
  function setUpTogether(tenants: readonly string[], streams: boolean) {
    const outputBudget = new OutputBudget(budget);
    const largeWrites = new LargeWrites();
    const attempts = tenants.map((tenant) => {
      const attempt = setUp({ streams, tenant });
      Object.assign(attempt.dependencies, { outputBudget, largeWrites });
      return attempt;
    });
    return { outputBudget, attempts };
  }

  it.each([true, false])('wait for each other, and all come to their ends (streams: %s)', async (streams) => {
    const { outputBudget, attempts } = setUpTogether(
      Array.from({ length: 8 }, () => 'hostile'),
      streams,
    );
    const outcomes = attempts.map(({ execute }) => execute());
    const calls = await Promise.all(attempts.map(({ provider }) => provider.call(0)));
    for (const call of calls) call.send(...Array.from({ length: 15 }, () => piece));
    await eventually(() => outputBudget.waiting > 0);
    // All of them take 248,000 bytes.
    expect(outputBudget.held).toBeLessThan(2 * budget.bytes);
    for (const call of calls) {
      call.answer(finish);
    }
    expect(await Promise.all(outcomes)).toEqual(attempts.map(() => ({ kind: 'settled' })));
    for (const { log } of attempts) {
      expect(log.end).toMatchObject({
        status: 'completed',
        output: [{ content: [{ text: 'x'.repeat(15_000) }] }],
      });
    }
    expect([outputBudget.held, outputBudget.waiting]).toEqual([0, 0]);
  });

  it('keep no small answer from its end', async () => {
    const { outputBudget, attempts } = setUpTogether(['hostile', 'hostile', 'quiet'], true);
    const [oldest, waits, quiet] = attempts.map((attempt) => ({ ...attempt, outcome: attempt.execute() }));
    const first = await oldest?.provider.call(0);
    first?.send(...Array.from({ length: 25 }, () => piece));
    await eventually(() => outputBudget.held > budget.bytes);
    const second = await waits?.provider.call(0);
    second?.send(...Array.from({ length: 25 }, () => piece));
    await eventually(() => outputBudget.waiting === 1);
    (await quiet?.provider.call(0))?.answer(text('Hello'), finish);
    expect(await quiet?.outcome).toEqual({ kind: 'settled' });
    expect(outputBudget.waiting).toBe(1);
    for (const call of [first, second]) {
      call?.answer(finish);
    }
    expect(await Promise.all([oldest?.outcome, waits?.outcome])).toEqual([
      { kind: 'settled' },
      { kind: 'settled' },
    ]);
  });

  it('end while they wait when they are cancelled', async () => {
    const { outputBudget, attempts } = setUpTogether(['hostile', 'hostile'], true);
    const [oldest, waits] = attempts.map((attempt) => ({ ...attempt, outcome: attempt.execute() }));
    const first = await oldest?.provider.call(0);
    first?.send(...Array.from({ length: 25 }, () => piece));
    await eventually(() => outputBudget.held > budget.bytes);
    const second = await waits?.provider.call(0);
    second?.send(...Array.from({ length: 25 }, () => piece));
    await eventually(() => outputBudget.waiting === 1);
    waits?.running.abort(waits.id, 'cancelled');
    expect(await waits?.outcome).toEqual({ kind: 'settled' });
    expect(waits?.log.end).toMatchObject({ status: 'cancelled' });
    first?.answer(finish);
    expect(await oldest?.outcome).toEqual({ kind: 'settled' });
    expect(outputBudget.held).toBe(0);
  });
});

describe('an answer that breaks a promise', () => {
  const format = { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true } as const;
  const request = { text: { format } };
  const broken = 'What the model gave as its output in the strict format is not JSON. Request id: req_1.';

  it('is followed by another attempt where nobody has seen it', async () => {
    const { log, provider, execute, observed } = setUp({ streams: false, request });
    const outcome = execute();
    (await provider.call(0)).answer(text('Certainly! '), finish);
    (await provider.call(1)).answer(text('{}'), finish);
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(log.end).toMatchObject({ status: 'completed', output: [{ content: [{ text: '{}' }] }] });
    expect(observed).toEqual([
      'started',
      'first token',
      'retried invalid_model_output',
      'started',
      'first token',
      'ended completed',
    ]);
  });

  it('is asked of another upstream first', async () => {
    const { log, provider, second, execute } = setUp({ streams: false, request, upstreams: 2 });
    const outcome = execute();
    for (const [each, said] of [
      [provider, 'Certainly!'],
      [second, '{}'],
    ] as const) {
      (await each.call(0)).answer(text(said), finish);
    }
    expect(await outcome).toEqual({ kind: 'settled' });
    expect(log.end).toMatchObject({ status: 'completed' });
  });

  it('fails the response after the last attempt, and says nothing of what was said', async () => {
    const { log, provider, execute } = setUp({ streams: false, request, maxAttempts: 2 });
    const outcome = execute();
    for (const at of [0, 1]) {
      (await provider.call(at)).answer(text('Certainly!'), finish);
    }
    expect(await outcome).toEqual({ kind: 'failed', code: 'invalid_model_output' });
    expect(log.end).toMatchObject({
      status: 'failed',
      error: { code: 'invalid_model_output', type: 'model_error', param: 'text.format', message: broken },
      output: [{ status: 'incomplete' }],
    });
  });

  it('fails the response at once where it was seen', async () => {
    const { log, provider, answered } = setUp({ request });
    expect(await answered(text('Certainly!'), finish)).toEqual({
      kind: 'failed',
      code: 'invalid_model_output',
    });
    expect(provider.calls).toHaveLength(1);
    expect(log.end).toMatchObject({ status: 'failed', error: { message: broken } });
    expectSoundStream(log);
  });

  it('is given back when its worker stops while it is checked', async () => {
    const { log, provider, execute, running, dependencies } = setUp({ streams: false, request });
    const checked = latch();
    dependencies.jsonChecks.check = (_tenant, checks, signal) => {
      checked.open(undefined);
      return new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve(checks.map(() => 'unknown'))),
      );
    };
    const outcome = execute();
    (await provider.call(0)).answer(text('{}'), finish);
    await checked.wait();
    running.interruptAll();
    expect(await outcome).toEqual({ kind: 'given_back' });
    expect(log.end).toBeUndefined();
  });
});
