import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import { defaultResource, type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { TraceContext } from '@sluice/runtime';
import { names } from './conventions.ts';
import type { FinishedSpan } from './finished-span.ts';
import type { TraceOptions } from './open-traces.ts';
import { OtlpExporter } from './otlp-exporter.ts';

/*
 * The only file that makes something with the SDK of OpenTelemetry. It is loaded when traces are switched on, and never
 * otherwise.
 */

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };

const scope = { name: 'sluice' };

/**
 * Samples requests, and sends spans that are over in batches.
 *
 * Spans are made here and not by a tracer of the SDK: all that a span says is known when it is over, its ids have been told to
 * others before, and a tracer takes as much time for a span as writing it for its receiver, 7 µs each.
 */
export class Sdk {
  readonly #exporter: OtlpExporter;
  readonly #batches: BatchSpanProcessor;
  readonly #sampler: Sampler;
  readonly #resource: Resource;
  readonly #most: number;
  readonly #onDropped: TraceOptions['onDropped'];
  #waiting = 0;
  #isStopped = false;

  constructor({ settings, service, onDropped }: TraceOptions) {
    const { batch, serviceName = `sluice-${service.role}`, timeoutMs } = settings;
    this.#most = batch.most;
    this.#onDropped = onDropped;
    this.#sampler = samplerOf(settings.sampler);
    this.#resource = defaultResource().merge(
      resourceFromAttributes({
        [names.serviceVersion]: service.version,
        [names.serviceInstance]: service.instance,
        [names.role]: service.role,
        ...settings.resource,
        [names.serviceName]: serviceName,
      }),
    );
    this.#exporter = new OtlpExporter(settings, { onTaken: (spans) => (this.#waiting -= spans), onDropped });
    this.#batches = new BatchSpanProcessor({
      exporter: this.#exporter,
      maxQueueSize: batch.most,
      maxExportBatchSize: batch.size,
      scheduledDelayMillis: batch.delayMs,
      exportTimeoutMillis: timeoutMs,
    });
  }

  isSampled(traceId: string, parent: TraceContext | undefined): boolean {
    const context = parent ? trace.setSpanContext(ROOT_CONTEXT, contextOf(parent)) : ROOT_CONTEXT;
    const { decision } = this.#sampler.shouldSample(context, traceId, 'request', SpanKind.SERVER, {}, []);
    return decision === SamplingDecision.RECORD_AND_SAMPLED;
  }

  add(span: FinishedSpan): void {
    if (this.#isStopped) return;
    if (this.#waiting >= this.#most) {
      this.#onDropped(new Error('Too many spans wait to be sent'), 1);
      return;
    }
    this.#waiting += 1;
    this.#batches.onEnd(readable(span, this.#resource));
  }

  /** Sends what waits, for as long as it may take, in milliseconds. The rest is dropped. */
  async stop(withinMs: number): Promise<void> {
    this.#isStopped = true;
    const deadline = setTimeout(() => this.#exporter.abort(), withinMs);
    // What was dropped has been told.
    await this.#batches.shutdown().catch(() => undefined);
    await this.#exporter.shutdown();
    clearTimeout(deadline);
  }
}

/** A span as the SDK sends it. */
function readable(span: FinishedSpan, resource: Resource): ReadableSpan {
  const { name, kind, context, parentSpanId, startedAt, attributes, links = [], error } = span;
  const endedAt = Math.max(span.endedAt, startedAt);
  const spanContext = contextOf(context);
  return {
    name,
    kind: kinds[kind],
    spanContext: () => spanContext,
    ...(parentSpanId !== undefined && {
      parentSpanContext: { ...spanContext, spanId: parentSpanId, isRemote: true },
    }),
    startTime: highResolution(startedAt),
    endTime: highResolution(endedAt),
    duration: highResolution(endedAt - startedAt),
    status: { code: error === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
    attributes: present(error === undefined ? attributes : { ...attributes, [names.errorType]: error }),
    links: links.map((link) => ({ context: contextOf(link) })),
    events: [],
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function present(attributes: FinishedSpan['attributes']): ReadableSpan['attributes'] {
  const known: ReadableSpan['attributes'] = {};
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) known[name] = value;
  return known;
}

/** Seconds and nanoseconds. */
function highResolution(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}

function contextOf({ traceId, spanId, isSampled }: TraceContext) {
  return {
    traceId,
    spanId,
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
  };
}

function samplerOf({ name, ratio }: TraceOptions['settings']['sampler']): Sampler {
  switch (name) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  }
}
