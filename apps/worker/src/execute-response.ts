import { pause, randomBytes } from '@sluice/runtime';
import { randomUUID } from 'node:crypto';
import {
  errorEvent,
  type FailureCode,
  failed,
  type Generation,
  cancelled,
  completed,
  incomplete,
  type ResponseEnd,
  type UnnumberedEvent,
} from '@sluice/contract';
import type { ClaimedRecord } from '@sluice/event-log';
import { ProviderError } from '@sluice/providers';
import type { Outcome } from '@sluice/queue';
import { abortReason, AttemptAborted } from './abort-reasons.ts';
import { type Assembled, Assembler } from './assemble-events.ts';
import { claimResponse } from './claim-response.ts';
import { estimatedUsage } from './estimated-usage.ts';
import { endUnrun } from './end-unrun.ts';
import { failureOf } from './failure.ts';
import type { AttemptWriter, ResponseLog } from './response-log.ts';
import { retryDelayMs } from './retry-delay.ts';
import type { Route } from './routes.ts';
import type { RunningAttempts } from './running-attempts.ts';

/** How long a record of another release is left alone before it is looked at again, in milliseconds. */
const unknownVersionDelayMs = 5_000;

/** What is worth counting about an attempt; see `worker-metrics.ts`. */
export interface AttemptObserver {
  started(model: string): void;
  firstToken(model: string, afterMs: number): void;
  retried(model: string, code: FailureCode): void;
  ended(model: string, status: ResponseEnd['status'], end: ResponseEnd): void;
}

export interface ExecuteDependencies {
  log: ResponseLog;
  /** The upstream for an attempt at a model, or undefined for a model this worker does not know. */
  route: (model: string, attempt: number) => Route | undefined;
  running: RunningAttempts;
  observer: AttemptObserver;
  logger: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
  /** For durations, in milliseconds. */
  now: () => number;
  /** The store's clock, in milliseconds since the epoch. */
  storeNow: () => number;
}

/**
 * Runs a response until it has its end, or until it must be given back.
 *
 * Delivered twice, late, or by hand, it does no harm: the claim decides. The end is in the record before this
 * returns, so whatever happens to the job afterwards changes nothing for the client.
 */
export async function executeResponse(
  dependencies: ExecuteDependencies,
  responseId: string,
  lockLost: AbortSignal,
): Promise<Outcome> {
  for (;;) {
    const token = randomUUID();
    const claimed = await claimResponse(dependencies, responseId, token, lockLost);
    switch (claimed.kind) {
      case 'nothing':
        return { kind: 'settled' };
      case 'unknown_version':
        return { kind: 'later', afterMs: unknownVersionDelayMs };
      case 'end':
        return endUnrun(dependencies, claimed.record, token, claimed.because, lockLost);
      case 'run': {
        const result = await new Attempt(dependencies, claimed.record, token).run(lockLost);
        if (result.kind !== 'retry') return result;
      }
    }
  }
}

/** What became of one attempt: an outcome for the queue, or another attempt in this process. */
type AttemptResult = Outcome | { kind: 'retry' };

/** One attempt: call, assemble, write, end. */
class Attempt {
  readonly #dependencies: ExecuteDependencies;
  readonly #record: ClaimedRecord;
  readonly #token: string;
  readonly #controller = new AbortController();
  readonly #assembler: Assembler;
  readonly #writer: AttemptWriter;
  #generation: Generation | undefined;
  #isVisible = false;

  constructor(dependencies: ExecuteDependencies, record: ClaimedRecord, token: string) {
    this.#dependencies = dependencies;
    this.#record = record;
    this.#token = token;
    this.#assembler = new Assembler({
      responseId: record.id,
      randomBytes,
      parallelCalls: record.request.parallel_tool_calls ?? true,
    });
    this.#writer = dependencies.log.writer(record, token, {
      onRefused: (reason) => this.#abort(reason),
      signal: this.#controller.signal,
    });
  }

  async run(lockLost: AbortSignal): Promise<AttemptResult> {
    const { running, observer } = this.#dependencies;
    const remove = running.add(this.#record.id, this.#token, this.#controller);
    const onLockLost = () => this.#abort('superseded');
    lockLost.addEventListener('abort', onLockLost, { once: true });
    if (lockLost.aborted) onLockLost();
    const timer = setTimeout(() => this.#abort('timed_out'), Math.max(this.#record.remainingMs, 0));
    observer.started(this.#record.request.model);
    try {
      await this.#generate();
      return await this.#finish();
    } catch (error) {
      return await this.#settleError(error);
    } finally {
      clearTimeout(timer);
      lockLost.removeEventListener('abort', onLockLost);
      remove();
    }
  }

  async #generate(): Promise<void> {
    const { request, input, attempt, id } = this.#record;
    const { route, observer, now } = this.#dependencies;
    const chosen = route(request.model, attempt);
    if (!chosen) {
      throw new ProviderError('server_error', `No route to the model of response ${id}`, {
        disposition: 'fail',
      });
    }
    const startedAt = now();
    const { signal } = this.#controller;
    signal.throwIfAborted();
    const context = await this.#dependencies.log.context(this.#record);
    if (context.kind === 'broken') {
      throw new ProviderError('previous_response_not_found', `Response ${context.missingId} is gone`, {
        disposition: 'fail',
      });
    }
    const generation = { ...request, input: [...context.items, ...input] };
    this.#generation = generation;
    const chunks = chosen.provider.generate(generation, {
      model: chosen.model,
      signal,
      responseId: id,
      attempt,
    });
    let isFirst = true;
    for await (const chunk of chunks) {
      const events = this.#assembler.push(chunk);
      if (events.length === 0) continue;
      if (isFirst) {
        isFirst = false;
        observer.firstToken(request.model, now() - startedAt);
      }
      this.#write(events);
      // An upstream that is faster than the store waits for it.
      if (this.#writer.isBehind) await this.#writer.flush();
      if (signal.aborted) break;
    }
    signal.throwIfAborted();
  }

  #write(events: UnnumberedEvent[]): void {
    if (events.length > 0 && this.#record.streams) this.#isVisible = true;
    for (const event of events) this.#writer.write(event);
  }

  async #finish(): Promise<Outcome> {
    const reason = this.#assembler.finish;
    const completedAt = Math.floor(this.#dependencies.storeNow() / 1000);
    switch (reason) {
      case 'stop':
      case 'function_call':
        this.#write(this.#assembler.close(true));
        return this.#end(completed(this.#produced(), completedAt));
      case 'max_output_tokens':
      case 'content_filter':
        this.#write(this.#assembler.close(false));
        return this.#end(incomplete(this.#produced(), reason));
      case undefined:
        throw new ProviderError('upstream_error', 'The stream ended without saying that it finished', {
          disposition: 'retry',
        });
    }
  }

  /** Output and usage of a finished run; an upstream that counts no tokens has them estimated. */
  #produced(): Assembled {
    const { output, usage } = this.#assembler.assembled;
    return { output, usage: usage ?? estimatedUsage(this.#generation, output) };
  }

  async #settleError(error: unknown): Promise<AttemptResult> {
    if (error instanceof AttemptAborted || this.#controller.signal.aborted) return this.#settleAbort();
    const failure =
      error instanceof ProviderError
        ? error
        : new ProviderError('server_error', 'An attempt failed for a reason of our own', {
            disposition: 'retry',
            cause: error,
          });
    this.#logFailure(failure);
    if (failure.disposition === 'retry' && !this.#isVisible && this.#mayRetry()) return this.#retry(failure);
    return this.#fail(failure.code, failure);
  }

  async #settleAbort(): Promise<AttemptResult> {
    switch (abortReason(this.#controller.signal)) {
      case 'cancelled':
        this.#write(this.#assembler.breakOff());
        return this.#end(cancelled(this.#assembler.assembled));
      case 'timed_out':
        return this.#fail('timeout');
      case 'superseded':
        this.#dependencies.logger.warn({ responseId: this.#record.id }, 'attempt superseded');
        return { kind: 'settled' };
      case 'interrupted':
        if (this.#isVisible) return this.#fail('server_error');
        await this.#dependencies.log.release(this.#record.id, this.#token);
        return { kind: 'given_back' };
    }
  }

  #mayRetry(): boolean {
    return this.#record.attempt < this.#record.maxAttempts;
  }

  async #retry(failure: ProviderError): Promise<AttemptResult> {
    const { route, observer } = this.#dependencies;
    const { request, attempt } = this.#record;
    observer.retried(request.model, failure.code);
    // Another upstream may be tried at once; the same one only after a pause.
    const isSameUpstream =
      route(request.model, attempt)?.provider === route(request.model, attempt + 1)?.provider;
    const delayMs = isSameUpstream ? retryDelayMs(attempt, failure.retryAfterMs) : 0;
    await pause(delayMs, this.#controller.signal);
    if (this.#controller.signal.aborted) return this.#settleAbort();
    return { kind: 'retry' };
  }

  #fail(code: FailureCode, failure?: ProviderError): Promise<Outcome> {
    const error = failureOf(this.#record, code, failure?.publicMessage, failure?.param);
    this.#write(this.#assembler.breakOff());
    this.#write([errorEvent(error)]);
    return this.#end(failed(this.#assembler.assembled, error), code);
  }

  /** `failure` is the code of a failed end, for the queue to show. */
  async #end(end: ResponseEnd, failure?: FailureCode): Promise<Outcome> {
    const { logger, observer } = this.#dependencies;
    const { id, request, attempt } = this.#record;
    const result = await this.#writer.end(end);
    if (result !== 'ok') {
      logger.warn({ responseId: id, attempt, result, status: end.status }, 'end not written');
      return { kind: 'settled' };
    }
    observer.ended(request.model, end.status, end);
    return failure ? { kind: 'failed', code: failure } : { kind: 'settled' };
  }

  #logFailure(failure: ProviderError): void {
    const fields = {
      responseId: this.#record.id,
      attempt: this.#record.attempt,
      code: failure.code,
      upstreamStatus: failure.upstreamStatus,
      upstreamRequestId: failure.upstreamRequestId,
      err: failure,
    };
    if (failure.code === 'server_error') this.#dependencies.logger.error(fields, 'attempt failed');
    else this.#dependencies.logger.warn(fields, 'attempt failed');
  }

  #abort(reason: AttemptAborted['reason']): void {
    if (!this.#controller.signal.aborted) this.#controller.abort(new AttemptAborted(reason));
  }
}
