import {
  type AttemptTrace,
  childOf,
  type Telemetry,
  type TelemetryEvents,
  type TraceContext,
} from '@sluice/runtime';
import { BoundedMap } from './bounded-map.ts';
import { inference, names } from './conventions.ts';
import type { SpanAttributes, SpanSink } from './finished-span.ts';

/** Most attempts in flight. A worker has fewer, so older ones have ended without telling it. */
const mostAttempts = 10_000;

interface OpenAttempt {
  attempt: number;
  trace: AttemptTrace;
  startedAt: number;
  attributes: readonly SpanAttributes[];
  call: OpenCall | undefined;
}

interface OpenCall {
  context: TraceContext;
  startedAt: number;
  upstreamModel: string;
  attributes: SpanAttributes;
  timeToFirstChunk: number | undefined;
}

/** How an attempt ended. `error` is a code. */
interface Ending {
  outcome: string;
  error?: string | undefined;
}

/**
 * Makes spans of the wait in the queue, of each attempt, and of each call of a model. `now` is the store's clock, in
 * milliseconds.
 *
 * An attempt that dies with its process has no span.
 */
export function traceAttempts(telemetry: Telemetry, sink: SpanSink, now: () => number): void {
  const spans = new AttemptSpans(sink, now);
  telemetry.on('attempt.claimed', (claimed) => spans.begin(claimed));
  telemetry.on('attempt.called', (called) => spans.beginCall(called));
  telemetry.on('attempt.first_token', (first) => spans.firstToken(first));
  telemetry.on('attempt.answered', (answered) => spans.endAnswered(answered));
  telemetry.on('attempt.failed', (failed) => spans.endFailed(failed));
  const endsWith = (event: EndingEvent, outcome: string) =>
    telemetry.on(event, (about: AboutAttempt) => spans.end(about, { outcome }));
  endsWith('attempt.superseded', 'superseded');
  endsWith('attempt.given_up', 'given_up');
  endsWith('attempt.given_back', 'given_back');
  endsWith('attempt.postponed', 'postponed');
  endsWith('attempt.dropped', 'dropped');
  endsWith('response.end_refused', 'end_refused');
  telemetry.on('attempt.retried', (about) => spans.end(about, { outcome: 'retried', error: about.code }));
  telemetry.on('response.ended', (about) => spans.end(about, { outcome: about.status, error: about.code }));
}

type EndingEvent =
  | 'attempt.superseded'
  | 'attempt.given_up'
  | 'attempt.given_back'
  | 'attempt.postponed'
  | 'attempt.dropped'
  | 'response.end_refused';

interface AboutAttempt {
  responseId: string;
  attempt: number;
}

class AttemptSpans {
  readonly #sink: SpanSink;
  readonly #now: () => number;
  /** By the response. A worker runs one attempt of it at a time. */
  readonly #open = new BoundedMap<string, OpenAttempt>(mostAttempts);

  constructor(sink: SpanSink, now: () => number) {
    this.#sink = sink;
    this.#now = now;
  }

  begin(claimed: TelemetryEvents['attempt.claimed']): void {
    const { trace } = claimed;
    if (!trace?.isSampled) return;
    const startedAt = this.#now();
    const ofResponse: SpanAttributes = [
      [names.responseId, claimed.responseId],
      [names.tenant, claimed.tenant],
      [names.model, claimed.model],
      [names.tier, claimed.tier],
    ];
    if (trace.isFirst) {
      this.#sink({
        name: names.span.wait,
        kind: 'internal',
        context: childOf(trace.origin),
        parentSpanId: trace.origin.spanId,
        startedAt: Math.min(claimed.acceptedAt, startedAt),
        endedAt: startedAt,
        attributes: [ofResponse],
      });
    }
    const before = this.#open.get(claimed.responseId);
    if (before) this.end({ ...claimed, attempt: before.attempt }, { outcome: 'unknown' });
    this.#open.set(claimed.responseId, {
      attempt: claimed.attempt,
      trace,
      startedAt,
      attributes: [
        ofResponse,
        [
          [names.attempt, claimed.attempt],
          [names.worker, claimed.worker],
        ],
      ],
      call: undefined,
    });
  }

  beginCall(called: TelemetryEvents['attempt.called']): void {
    const open = this.#attemptOf(called);
    if (!open || !called.trace) return;
    this.#endCall(open, [], undefined);
    open.call = {
      context: called.trace,
      startedAt: this.#now(),
      upstreamModel: called.upstreamModel,
      timeToFirstChunk: undefined,
      attributes: [
        [names.operation, inference],
        [names.provider, called.provider],
        [names.requestModel, called.upstreamModel],
        [names.requestStream, true],
        [names.responseId, called.responseId],
        [names.attempt, called.attempt],
      ],
    };
  }

  firstToken(first: TelemetryEvents['attempt.first_token']): void {
    const call = this.#attemptOf(first)?.call;
    if (call) call.timeToFirstChunk = first.sinceCallMs / 1000;
  }

  endAnswered(answered: TelemetryEvents['attempt.answered']): void {
    const open = this.#attemptOf(answered);
    if (!open) return;
    const { finishReason, usage } = answered;
    this.#endCall(
      open,
      [
        [names.finishReasons, [finishReason]],
        [names.inputTokens, usage?.inputTokens],
        [names.cachedTokens, usage?.cachedTokens],
        [names.outputTokens, usage?.outputTokens],
        [names.reasoningTokens, usage?.reasoningTokens],
      ],
      undefined,
    );
  }

  endFailed(failed: TelemetryEvents['attempt.failed']): void {
    const open = this.#attemptOf(failed);
    if (open) this.#endCall(open, [[names.status, failed.upstreamStatus]], failed.code);
  }

  end(about: AboutAttempt, { outcome, error }: Ending): void {
    const open = this.#attemptOf(about);
    if (!open) return;
    this.#open.delete(about.responseId);
    // The call was broken off.
    this.#endCall(open, [], error ?? outcome);
    const { trace, startedAt, attributes } = open;
    this.#sink({
      name: names.span.attempt,
      kind: 'internal',
      context: trace,
      parentSpanId: trace.isJoined ? trace.origin.spanId : undefined,
      startedAt,
      endedAt: this.#now(),
      attributes: [...attributes, [[names.outcome, outcome]]],
      ...(!trace.isJoined && { links: [trace.origin] }),
      error,
    });
  }

  /** The attempt that is under way, unless it is another one of that response. */
  #attemptOf({ responseId, attempt }: AboutAttempt): OpenAttempt | undefined {
    const open = this.#open.get(responseId);
    return open?.attempt === attempt ? open : undefined;
  }

  #endCall(open: OpenAttempt, more: SpanAttributes, error: string | undefined): void {
    const { call, trace } = open;
    if (!call) return;
    open.call = undefined;
    const { context, startedAt, attributes, timeToFirstChunk } = call;
    this.#sink({
      name: names.span.call(call.upstreamModel),
      kind: 'client',
      context,
      parentSpanId: trace.spanId,
      startedAt,
      endedAt: this.#now(),
      attributes: [attributes, [[names.timeToFirstChunk, timeToFirstChunk]], more],
      error,
    });
  }
}
