import { randomBytes } from 'node:crypto';
import { accept, type AcceptResult, type RequestRate } from '@sluice/admission';
import type { KeySettings, ModelSettings, Settings } from '@sluice/config';
import {
  cancelled,
  type CreateResponse,
  failed,
  failureBody,
  newResponseId,
  nothingProduced,
  requestedTier,
  type Response,
  type ResponseEnd,
  responseFor,
  ServiceError,
  type ServiceTier,
} from '@sluice/contract';
import {
  append,
  leave,
  markEnqueued,
  readRecord,
  type RedisKeys,
  type Relay,
  type ResponseRecord,
} from '@sluice/event-log';
import { queueName, type ResponseQueue } from '@sluice/queue';
import { loggedError, type Logger } from '@sluice/runtime';
import type { Redis } from 'ioredis';

/** How long an accept may be under way: past it the store does nothing, so a refused request stays refused. */
const acceptWithinMs = 1_000;

/** Between two tries to take back what may have been accepted while the store gave no answer, in milliseconds. */
const abandonEveryMs = 500;

/** A record outlives every time-out it can run into, so that only its end starts its retention. */
const expirySlackMs = 3_600_000;

export interface ResponseServiceOptions {
  settings: Pick<Settings, 'models' | 'limits' | 'timeouts' | 'recovery' | 'retention'>;
  redis: Redis;
  keys: RedisKeys;
  queue: ResponseQueue;
  relay: Relay;
  apiProcess: string;
  /** The store's clock, in milliseconds. */
  now: () => number;
  logger: Logger;
}

/** A response that was accepted and waits in its queue. */
export interface Accepted {
  response: Response;
  rate: RequestRate | undefined;
}

/** What the routes do with responses, in terms of neither HTTP nor Redis. */
export class ResponseService {
  readonly #options: ResponseServiceOptions;
  readonly #models: ReadonlyMap<string, ModelSettings>;
  readonly #loose = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(options: ResponseServiceOptions) {
    this.#options = options;
    this.#models = new Map(options.settings.models.map((model) => [model.id, model]));
  }

  get relay(): Relay {
    return this.#options.relay;
  }

  newId(): string {
    return newResponseId(randomBytes);
  }

  models(): ModelSettings[] {
    return [...this.#models.values()];
  }

  /**
   * Accepts a response: checks what only this service knows, admits it, and puts its job in the queue.
   *
   * When this resolves the response survives the death of any process. When it rejects nothing runs: what the
   * store may have taken in without telling is taken back, for as long as that needs.
   */
  async accept(
    responseId: string,
    request: CreateResponse,
    caller: KeySettings,
    requestId: string,
  ): Promise<Accepted> {
    const model = this.#modelFor(request.model, caller);
    const serviceTier = tierFor(request, caller);
    const queue = queueName(model.queue);
    const result = await this.#admit(responseId, request, caller, requestId, serviceTier, queue);
    if (result.kind !== 'accepted') throw refusal(result);
    try {
      await this.#options.queue.enqueue(queue, responseId);
    } catch (error) {
      this.#abandon(responseId);
      throw error;
    }
    this.#letRun(markEnqueued(this.#options.redis, this.#options.keys, responseId));
    const createdAt = Math.floor(result.acceptedAt / 1000);
    return { response: responseFor(request, { id: responseId, createdAt, serviceTier }), rate: result.rate };
  }

  /** The caller left, or waited as long as it may: the response ends unless somebody else wants it. */
  async leave(responseId: string, model: string, reason: 'caller_left' | 'timed_out'): Promise<void> {
    const { redis, keys, apiProcess } = this.#options;
    const left = await leave(redis, keys, responseId, {
      apiProcess,
      reason,
      evenIfWatched: reason === 'timed_out',
    });
    if (left.kind !== 'asked' || !left.isQueued) return;
    await this.#endQueued(responseId, cancelled(nothingProduced));
    const queue = this.#models.get(model)?.queue;
    if (queue !== undefined) await this.#options.queue.remove(queueName(queue), responseId);
  }

  /** `leave` for a caller that is gone already: nobody can be told that it failed, the lease covers that. */
  leaveQuietly(responseId: string, model: string): void {
    this.#letRun(this.leave(responseId, model, 'caller_left'));
  }

  /** A response of this tenant; undefined for one that is unknown, foreign, expired or was never to be kept. */
  async find(responseId: string, tenant: string): Promise<ResponseRecord | undefined> {
    const record = await readRecord(this.#options.redis, this.#options.keys, responseId);
    if (record?.tenant !== tenant) return undefined;
    return record.request.store === false && record.end ? undefined : record;
  }

  /** Waits for everything that was let run; what has no answer by then is left to the rescue. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#loose);
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

  async #admit(
    responseId: string,
    request: CreateResponse,
    caller: KeySettings,
    requestId: string,
    serviceTier: ServiceTier,
    queue: string,
  ): Promise<AcceptResult> {
    const { redis, keys, settings, apiProcess, now } = this.#options;
    const { limits, timeouts, retention } = settings;
    try {
      return await accept(redis, keys, {
        responseId,
        requestId,
        tenant: caller.name,
        request,
        serviceTier,
        queue,
        apiProcess,
        limits: {
          requestsPerMinute: caller.limits.requestsPerMinute,
          tenantQueued: caller.limits.queued,
          queued: limits.queued,
          queuedBytes: limits.queuedBytes,
        },
        queueMs: timeouts.queueMs,
        expireMs: timeouts.queueMs + timeouts.totalMs + retention.responseSeconds * 1000 + expirySlackMs,
        deadline: now() + acceptWithinMs,
      });
    } catch (error) {
      this.#abandon(responseId);
      throw error;
    }
  }

  /** Ends what may have been accepted although nobody could be told, until the store has answered. */
  #abandon(responseId: string): void {
    this.#letRun(this.#abandonUntilAnswered(responseId));
  }

  async #abandonUntilAnswered(responseId: string): Promise<void> {
    const { logger } = this.#options;
    const signal = this.#stopping.signal;
    while (!signal.aborted) {
      try {
        await this.#endQueued(responseId, failed(nothingProduced, failureBody('server_error')));
        return;
      } catch (error) {
        logger.debug({ responseId, err: loggedError(error) }, 'abandon got no answer');
        await pause(abandonEveryMs, signal);
      }
    }
  }

  async #endQueued(responseId: string, end: ResponseEnd): Promise<void> {
    const { redis, keys, settings } = this.#options;
    const { responseSeconds, eventLogSeconds } = settings.retention;
    await append(redis, keys, responseId, {
      token: '',
      sequenceNumber: 2, // behind `response.created` and `response.queued`
      events: [],
      end,
      retention: { recordMs: responseSeconds * 1000, logMs: eventLogSeconds * 1000 },
    });
  }

  #letRun(work: Promise<void>): void {
    const owned = work
      .catch((error: unknown) =>
        this.#options.logger.warn({ err: loggedError(error) }, 'store did not answer'),
      )
      .finally(() => this.#loose.delete(owned));
    this.#loose.add(owned);
  }
}

/** A tier the key may not have is served as default. */
function tierFor(request: CreateResponse, caller: KeySettings): ServiceTier {
  const tier = requestedTier(request.service_tier);
  return caller.tiers.includes(tier) ? tier : 'default';
}

function refusal(result: Exclude<AcceptResult, { kind: 'accepted' }>): Error {
  switch (result.kind) {
    case 'rate_limited':
    case 'tenant_queue_full': {
      const what =
        result.kind === 'rate_limited'
          ? `Rate limit reached: ${result.rate?.limit ?? 0} requests per minute.`
          : 'Too many of your requests are waiting.';
      const seconds = Math.ceil(result.retryAfterMs / 100) / 10;
      return new RateLimited(`${what} Please try again in ${seconds}s.`, result.retryAfterMs, result.rate);
    }
    case 'queue_full':
      return new ServiceError(
        'server_is_overloaded',
        'Too many requests are waiting. Please try again later.',
        {
          retryAfterMs: result.retryAfterMs,
        },
      );
    case 'too_late':
      return new ServiceError('server_is_overloaded', 'The server cannot take requests at the moment.', {
        retryAfterMs: 1_000,
      });
  }
}

/** A refusal that says where the tenant stands with its limit. */
export class RateLimited extends ServiceError {
  readonly rate: RequestRate | undefined;

  constructor(message: string, retryAfterMs: number, rate: RequestRate | undefined) {
    super('rate_limit_exceeded', message, { retryAfterMs });
    this.rate = rate;
  }
}

/** A client's own word in an error message, short and without line breaks. */
function shown(text: string): string {
  const plain = text.replaceAll(/[^\x20-\x7e]/g, '?');
  return plain.length > 64 ? `${plain.slice(0, 64)}…` : plain;
}

function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, delayMs);
    signal.addEventListener('abort', done, { once: true });
  });
}
