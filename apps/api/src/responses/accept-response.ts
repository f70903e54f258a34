import { costOf } from '@sluice/admission';
import type { ModelSettings } from '@sluice/config';
import { modeOf, responseFor, ServiceError, type ServiceTier } from '@sluice/contract';
import { queueName } from '@sluice/queue';
import { type AcceptResult, largeFrom, type PreparedRequest, type TenantUse } from '@sluice/response-store';
import { isNeverSent, printTraceparent, repeatUnanswered } from '@sluice/runtime';
import { limitsInEffect } from '@sluice/tenants';
import { storedNameOf } from '../key-names.ts';
import { AcceptedResponse } from './accepted-response.ts';
import { againIfLate } from './again-if-late.ts';
import type { BackgroundWork } from './background-work.ts';
import type { ResponsesDependencies } from './dependencies.ts';
import type { Caller } from './caller.ts';
import type { EarlyEnds } from './early-ends.ts';
import type { QueuePositions } from './queue-positions.ts';
import { isSameEverywhere, notDurable, overBudget, type Refused, refusal, storeFull } from './refusals.ts';
import type { CheckedRequest, RequestChecks, UncheckedRequest } from './request-checks.ts';
import {
  expectedInputOf,
  expectedOutputOf,
  mostOutputOf,
  printPrice,
  tierFor,
  weightOfTier,
} from './request-limits.ts';
import { unresolved } from './resolve-references.ts';
import type { UnansweredSteps } from './unanswered-steps.ts';

/**
 * How long an accept may be under way: past it the store does nothing, so a refused request stays refused. It begins when
 * what is large has arrived; the store gives that a time by its size.
 */
const acceptWithinMs = 1_000;

/** How long missing replies to the accept and to the adding of the job are asked for, in milliseconds: a caller has its refusal within 1.5 s. */
const repeatWithinMs = 1_300;

/** A tenant's list outlives every response in it by this much, in milliseconds. */
const listSlackMs = 3_600_000;

export interface NewResponse extends UncheckedRequest {
  idempotencyKey: string | undefined;
  /** The tier in which it is served, whatever it asks for. */
  tier?: ServiceTier | undefined;
  /** Whether somebody waits here for the end of a response in the background. */
  isAwaited?: boolean | undefined;
  /** Called with what was accepted, all that it refers to included. */
  onTaken?: ((responseId: string, prepared: PreparedRequest) => void) | undefined;
}

/** A job that was added to its queue. */
export interface AddedJob {
  queue: string;
  /** How many were before it; undefined when it waits outside, or nobody knows. Never rejects. */
  ahead: Promise<number | undefined>;
}

/** A new response whose request was checked. */
export interface CheckedResponse extends NewResponse {
  checked: CheckedRequest;
}

export type AcceptOutcome =
  /** It waits in its queue, and survives the death of any process. */
  | { kind: 'accepted'; accepted: AcceptedResponse; job: AddedJob; use: TenantUse }
  /** Its Idempotency-Key stands for this response already. */
  | { kind: 'duplicate'; responseId: string }
  /** There is no room for it in its cell, or nobody knows. Nothing of it runs. */
  | { kind: 'refused'; error: unknown };

interface Admission {
  responseId: string;
  idempotencyKey: string | undefined;
  prepared: PreparedRequest;
  model: ModelSettings;
  serviceTier: ServiceTier;
  queue: string;
  /** Whether somebody waits here, unless the answer to a background request is the acceptance itself. */
  isWatched: boolean;
  /** When missing replies are no longer asked for, by `performance.now`; later when something large goes ahead. */
  budget: { giveUpAt: number };
}

/** Takes responses in: everything between a valid body and a job in the queue. */
export class ResponseAcceptor {
  readonly #dependencies: ResponsesDependencies;
  readonly #checks: RequestChecks;
  readonly #ends: EarlyEnds;
  readonly #steps: UnansweredSteps;
  readonly #background: BackgroundWork;
  readonly #positions: QueuePositions;

  constructor(
    dependencies: ResponsesDependencies,
    parts: {
      checks: RequestChecks;
      ends: EarlyEnds;
      steps: UnansweredSteps;
      background: BackgroundWork;
      positions: QueuePositions;
    },
  ) {
    this.#dependencies = dependencies;
    this.#checks = parts.checks;
    this.#ends = parts.ends;
    this.#steps = parts.steps;
    this.#background = parts.background;
    this.#positions = parts.positions;
  }

  /** Checks what only this service knows. It takes the request, so it can be done once. */
  check(caller: Caller, accepting: NewResponse): Promise<CheckedRequest> {
    return this.#checks.prepare(caller, accepting);
  }

  /**
   * Admits a response, and adds its job.
   *
   * A reply of the store that was lost is asked for again. When it rejects nothing runs: what the store may have taken in
   * without telling is taken back, for as long as that needs. A worker can be faster only when the store was out of reach
   * for longer than the replies were asked for.
   */
  async accept(responseId: string, caller: Caller, accepting: CheckedResponse): Promise<AcceptOutcome> {
    const { pending, idempotencyKey } = accepting;
    const { key, requestId } = caller;
    const { request } = pending;
    const { model, prepared } = accepting.checked;
    const serviceTier = accepting.tier ?? tierFor(request, key);
    const queue = queueName(model.queue);
    const budget = { giveUpAt: performance.now() + repeatWithinMs };
    const isWatched = request.background !== true || request.stream === true || accepting.isAwaited === true;
    const admission = { responseId, idempotencyKey, prepared, model, serviceTier, queue, isWatched, budget };
    const result = await againIfLate(() => this.#admit(caller, admission)).catch((error: unknown) => ({
      kind: 'refused' as const,
      error,
    }));
    if (result.kind === 'duplicate' || result.kind === 'refused') return result;
    if (result.kind === 'unresolved') {
      const { limits } = this.#dependencies.settings;
      throw unresolved(result.problem, prepared.previousId ?? '', limits);
    }
    if (result.kind !== 'accepted') {
      const error = this.#refusal(result, { responseId, queue });
      if (isSameEverywhere(result)) throw error;
      return { kind: 'refused', error };
    }
    try {
      await this.#addJob(queue, responseId, { priority: result.priority, giveUpAt: budget.giveUpAt });
    } catch (error) {
      this.#abandon(responseId);
      throw error;
    }
    this.#dependencies.telemetry.emit('response.accepted', {
      responseId,
      requestId,
      tenant: key.name,
      model: request.model,
      tier: serviceTier,
      mode: modeOf(request),
      acceptedAt: result.acceptedAt,
      isInLine: result.priority === undefined,
      metadata: request.metadata,
      trace: caller.trace,
    });
    const createdAt = Math.floor(result.acceptedAt / 1000);
    const requestBytes = Buffer.byteLength(prepared.requestJson);
    const response = responseFor(request, { id: responseId, createdAt, serviceTier });
    if (requestBytes > largeFrom) pending.dropLongMembers();
    // Where nobody waits the caller is told at once, whatever the store answers after the accept.
    const largeBytes = isWatched && requestBytes > largeFrom ? requestBytes : 0;
    accepting.onTaken?.(responseId, prepared);
    const accepted = AcceptedResponse.of(response, { store: this.#dependencies.store, largeBytes });
    const job = this.#noteJob(queue, responseId, request.background === true);
    return { kind: 'accepted', accepted, job, use: result.use };
  }

  #refusal(result: Refused, { responseId, queue }: { responseId: string; queue: string }): ServiceError {
    if (result.kind === 'tenant_queue_full' || result.kind === 'queue_full')
      return refusal({ ...result, retryAfterMs: this.#positions.untilRoomMs(queue) });
    if (result.kind !== 'over_budget') return refusal(result);
    const { settings, now } = this.#dependencies;
    return overBudget(result, { now: now(responseId), currency: settings.usage.currency });
  }

  /** Adds the job of a response that was accepted for another caller. */
  async enqueue(
    queue: string,
    responseId: string,
    job: { isBackground: boolean; priority: number | undefined },
  ): Promise<void> {
    await this.#addJob(queue, responseId, { ...job, giveUpAt: performance.now() + repeatWithinMs });
    this.#noteJob(queue, responseId, job.isBackground);
  }

  /**
   * Adds the job of an accepted response, once however often it asks. Without a priority it waits outside of its queue for a place. All is
   * durable before the job, so that nothing else runs, and behind it, because the job counts as well.
   */
  async #addJob(
    queue: string,
    responseId: string,
    { priority, giveUpAt }: { priority: number | undefined; giveUpAt: number },
  ): Promise<void> {
    const { queue: queues, store } = this.#dependencies;
    await this.#becomeDurable(responseId);
    if (priority !== undefined) {
      await repeatUnanswered(() => queues.enqueue(queue, responseId, priority), { giveUpAt });
    } else {
      await repeatUnanswered(() => queues.defer(queue, responseId), { giveUpAt });
      const isOpen = await repeatUnanswered(() => store.standInLine(responseId), { giveUpAt });
      // It was cancelled before its job was there, which would wait for a day.
      if (!isOpen) await repeatUnanswered(() => queues.remove(queue, responseId), { giveUpAt });
    }
    await this.#becomeDurable(responseId);
  }

  /**
   * Notes the job of a background response in its record. Its caller is told that it was accepted and leaves, so if the job
   * is lost, the rescue must know that somebody counts on it, and nobody takes the response back. So it is noted when nothing
   * can refuse the caller any more. A caller that waits keeps its response alive by waiting.
   */
  #noteJob(queue: string, responseId: string, isBackground: boolean): AddedJob {
    if (!isBackground) return { queue, ahead: Promise.resolve(undefined) };
    const { queue: queues, store } = this.#dependencies;
    const noted = store.noteJob(responseId, queues.order(queue, responseId).jobs);
    this.#background.run(async () => void (await noted));
    return { queue, ahead: noted.catch(() => undefined) };
  }

  async #admit(
    caller: Caller,
    { responseId, idempotencyKey, prepared, model, serviceTier, queue, isWatched, budget }: Admission,
  ): Promise<AcceptResult> {
    const { store, settings, live, now } = this.#dependencies;
    const memory = this.#dependencies.memoryOf(responseId);
    const { limits } = live;
    const { timeouts, retention, recovery } = settings;
    const { key, requestId } = caller;
    const { request } = prepared;
    const own = limitsInEffect(key.limits, limits, memory.used?.limitBytes);
    const isBackground = request.background === true;
    const keepMs = retention.idempotencySeconds * 1000;
    const mostOutputTokens = mostOutputOf(model, key);
    const longestQueueMs = Math.max(timeouts.queueMs, timeouts.backgroundQueueMs);
    // A request that is refused here was never sent, so there is nothing to take back or to ask for again.
    if (this.#steps.isFull)
      throw new ServiceError('server_is_overloaded', 'The server cannot take requests at the moment.');
    // Responses that are accepted already need room for their ends.
    if (memory.usedPercent >= limits.redisMemoryPercent) throw storeFull();
    // While the store's clock is not known this throws, and nothing was sent that would have to be taken back.
    now(responseId);
    try {
      return await store.accept({
        id: responseId,
        tenant: key.name,
        tier: serviceTier,
        queue,
        request_id: requestId,
        key: storedNameOf(key),
        traceparent: caller.trace && printTraceparent(caller.trace),
        most_output: mostOutputTokens,
        price: model.price && printPrice(model.price),
        grace_ms: idempotencyKey === undefined ? recovery.disconnectGraceMs : recovery.retryGraceMs,
        cost: costOf(key.weight, weightOfTier(settings.fairness, serviceTier)),
        queue_ms: isBackground ? timeouts.backgroundQueueMs : timeouts.queueMs,
        hold_ms: longestQueueMs + timeouts.totalMs + retention.responseSeconds * 1000 + listSlackMs,
        most_context_bytes: settings.limits.contextBytes,
        most_context_turns: settings.limits.contextTurns,
        prepared,
        isWatched,
        limits: { ...own, key: key.budget, service: limits },
        ownLimits: key.limits,
        tokens: {
          ...expectedInputOf(prepared, model),
          output: expectedOutputOf(request, mostOutputTokens),
        },
        idempotency: idempotencyKey === undefined ? undefined : { key: idempotencyKey, keepMs },
        deadline: () => {
          budget.giveUpAt = performance.now() + repeatWithinMs;
          return now(responseId) + acceptWithinMs;
        },
        repeat: (step) => repeatUnanswered(step, { giveUpAt: budget.giveUpAt, isFinal: isNeverSent }),
      });
    } catch (error) {
      if (!isNeverSent(error)) this.#abandon(responseId);
      throw error;
    }
  }

  async #becomeDurable(responseId: string): Promise<void> {
    if (!(await this.#dependencies.store.isDurable(responseId))) throw notDurable();
  }

  /** Its accept was sent before now, so it does nothing past this deadline. */
  #abandon(responseId: string): void {
    this.#ends.abandon(responseId, this.#dependencies.now(responseId) + acceptWithinMs);
  }
}
