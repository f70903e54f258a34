import { accept, type AcceptResult, type RequestRate } from '@sluice/admission';
import type { KeySettings, ModelSettings } from '@sluice/config';
import {
  type CreateResponse,
  requestedTier,
  type Response,
  responseFor,
  ServiceError,
  type ServiceTier,
} from '@sluice/contract';
import { markEnqueued } from '@sluice/event-log';
import { queueName } from '@sluice/queue';
import type { BackgroundWork } from './background-work.ts';
import type { EndResponse } from './end-response.ts';
import { refusal } from './refusals.ts';
import type { ResolveReferences } from './resolve-references.ts';
import type { ServiceDependencies } from './service-dependencies.ts';

/** How long an accept may be under way: past it the store does nothing, so a refused request stays refused. */
const acceptWithinMs = 1_000;

/** A record outlives every time-out it can run into, so that only its end starts its retention. */
const expirySlackMs = 3_600_000;

export interface Accepting {
  responseId: string;
  request: CreateResponse;
  caller: KeySettings;
  /** Id of the create call. */
  requestId: string;
  idempotencyKey: string | undefined;
}

export type Acceptance =
  /** It waits in its queue, and survives the death of any process. */
  | { kind: 'accepted'; response: Response; rate: RequestRate | undefined }
  /** Its Idempotency-Key stands for this response already. */
  | { kind: 'duplicate'; responseId: string };

/** Takes a response in: everything between a valid body and a job in the queue. */
export class AcceptResponse {
  readonly #dependencies: ServiceDependencies;
  readonly #models: ReadonlyMap<string, ModelSettings>;
  readonly #references: ResolveReferences;
  readonly #ending: EndResponse;
  readonly #background: BackgroundWork;

  constructor(
    dependencies: ServiceDependencies,
    parts: { references: ResolveReferences; ending: EndResponse; background: BackgroundWork },
  ) {
    this.#dependencies = dependencies;
    this.#models = new Map(dependencies.settings.models.map((model) => [model.id, model]));
    this.#references = parts.references;
    this.#ending = parts.ending;
    this.#background = parts.background;
  }

  /**
   * Checks what only this service knows, admits the response, and adds its job.
   *
   * When it rejects nothing runs: what the store may have taken in without telling is taken back, for as long
   * as that needs.
   */
  async accept(accepting: Accepting): Promise<Acceptance> {
    const { responseId, caller } = accepting;
    const model = this.#modelFor(accepting.request.model, caller);
    const request = await this.#references.resolve(accepting.request, caller.name);
    const serviceTier = tierFor(request, caller);
    const queue = queueName(model.queue);
    const result = await this.#admit({ ...accepting, request }, serviceTier, queue);
    if (result.kind === 'duplicate') return result;
    if (result.kind !== 'accepted') throw refusal(result);
    try {
      await this.enqueue(queue, responseId, { isBackground: request.background === true });
    } catch (error) {
      this.#ending.abandon(responseId);
      throw error;
    }
    const createdAt = Math.floor(result.acceptedAt / 1000);
    const response = responseFor(request, { id: responseId, createdAt, serviceTier });
    return { kind: 'accepted', response, rate: result.rate };
  }

  /**
   * Adds the job of an accepted response. Doing it twice leaves one.
   *
   * That of a background response is noted, since its caller is told that it was accepted and goes: should its job
   * be lost, the rescue must know that somebody counts on it. Who waits for another one keeps it alive by waiting.
   */
  async enqueue(
    queue: string,
    responseId: string,
    { isBackground }: { isBackground: boolean },
  ): Promise<void> {
    await this.#dependencies.queue.enqueue(queue, responseId);
    const { redis, keys } = this.#dependencies;
    if (isBackground) this.#background.run(() => markEnqueued(redis, keys, responseId));
  }

  #modelFor(id: string, caller: KeySettings): ModelSettings {
    const model = this.#models.get(id);
    if (!model) {
      throw new ServiceError('model_not_found', `The model '${shown(id)}' does not exist.`, {
        param: 'model',
      });
    }
    if (!caller.models.includes('*') && !caller.models.includes(id)) {
      throw new ServiceError('model_not_allowed', `This key may not use the model '${id}'.`, {
        param: 'model',
      });
    }
    return model;
  }

  async #admit(accepting: Accepting, serviceTier: ServiceTier, queue: string): Promise<AcceptResult> {
    const { responseId, request, caller, requestId, idempotencyKey } = accepting;
    const { redis, keys, settings, apiProcess, now } = this.#dependencies;
    const { limits, timeouts, retention, recovery } = settings;
    const isBackground = request.background === true;
    const livesMs = timeouts.totalMs + retention.responseSeconds * 1000 + expirySlackMs;
    const queueMs = isBackground ? timeouts.backgroundQueueMs : timeouts.queueMs;
    try {
      return await accept(redis, keys, {
        responseId,
        requestId,
        tenant: caller.name,
        request,
        serviceTier,
        queue,
        // Somebody waits here unless the answer to a background request is the acceptance itself.
        apiProcess: isBackground && request.stream !== true ? undefined : apiProcess,
        limits: {
          requestsPerMinute: caller.limits.requestsPerMinute,
          tenantQueued: caller.limits.queued,
          queued: limits.queued,
          queuedBytes: limits.queuedBytes,
        },
        queueMs,
        graceMs: idempotencyKey === undefined ? recovery.disconnectGraceMs : recovery.retryGraceMs,
        idempotency:
          idempotencyKey === undefined
            ? undefined
            : { key: idempotencyKey, keepMs: retention.idempotencySeconds * 1000 },
        expireMs: queueMs + livesMs,
        listMs: Math.max(timeouts.queueMs, timeouts.backgroundQueueMs) + livesMs,
        deadline: now() + acceptWithinMs,
      });
    } catch (error) {
      this.#ending.abandon(responseId);
      throw error;
    }
  }
}

/** A tier the key may not have is served as default. */
function tierFor(request: CreateResponse, caller: KeySettings): ServiceTier {
  const tier = requestedTier(request.service_tier);
  return caller.tiers.includes(tier) ? tier : 'default';
}

/** A client's own word in an error message, short and without line breaks. */
function shown(text: string): string {
  const plain = text.replaceAll(/[^\x20-\x7e]/g, '?');
  return plain.length > 64 ? `${plain.slice(0, 64)}…` : plain;
}
