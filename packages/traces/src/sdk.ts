import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TraceContext } from '@sluice/runtime';
import { names } from './conventions.ts';
import type { FinishedSpan } from './finished-span.ts';
import type { TraceOptions } from './open-traces.ts';
import { OtlpExporter } from './otlp-exporter.ts';

/*
 * The only file that knows the SDK of OpenTelemetry. It is loaded when traces are switched on, and never otherwise.
 */

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };

/** The SDK with what is ours: it samples requests, and sends spans that are over in batches. */
export class Sdk {
  readonly #exporter: OtlpExporter;
  readonly #provider: TracerProvider;
  readonly #sampler: Sampler;
  readonly #most: number;
  readonly #onDropped: TraceOptions['onDropped'];
  #waiting = 0;
  /** Ids are chosen before their spans are made; see `FinishedSpan`. */
  #next = { traceId: '', spanId: '' };

  constructor({ settings, service, onDropped }: TraceOptions) {
    this.#most = settings.batch.most;
    this.#onDropped = onDropped;
    this.#sampler = samplerOf(settings.sampler);
    this.#exporter = new OtlpExporter(settings, {
      onTaken: (spans) => (this.#waiting -= spans),
      onDropped,
    });
    this.#provider = new TracerProvider({
      resource: defaultResource().merge(
        resourceFromAttributes({
          [names.serviceName]: settings.serviceName ?? `sluice-${service.role}`,
          [names.serviceVersion]: service.version,
          [names.serviceInstance]: service.instance,
          [names.role]: service.role,
          ...settings.resource,
          ...(settings.serviceName !== undefined && { [names.serviceName]: settings.serviceName }),
        }),
      ),
      // What is sampled was decided when its request came.
      sampler: new AlwaysOnSampler(),
      idGenerator: {
        generateTraceId: () => this.#next.traceId,
        generateSpanId: () => this.#next.spanId,
      },
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: this.#exporter,
          maxQueueSize: settings.batch.most,
          maxExportBatchSize: settings.batch.size,
          scheduledDelayMillis: settings.batch.delayMs,
          exportTimeoutMillis: settings.timeoutMs,
        }),
      ],
    });
  }

  isSampled(traceId: string, parent: TraceContext | undefined): boolean {
    const context = parent ? trace.setSpanContext(ROOT_CONTEXT, contextOf(parent)) : ROOT_CONTEXT;
    const { decision } = this.#sampler.shouldSample(context, traceId, 'request', SpanKind.SERVER, {}, []);
    return decision === SamplingDecision.RECORD_AND_SAMPLED;
  }

  add({
    context,
    parentSpanId,
    name,
    kind,
    startedAt,
    endedAt,
    attributes,
    links,
    error,
  }: FinishedSpan): void {
    if (this.#waiting >= this.#most) {
      this.#onDropped(new Error('Too many spans wait to be sent'), 1);
      return;
    }
    this.#waiting += 1;
    this.#next = context;
    const parent =
      parentSpanId === undefined
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, contextOf({ ...context, spanId: parentSpanId }));
    const span = this.#tracer().startSpan(
      name,
      {
        kind: kinds[kind],
        startTime: startedAt,
        attributes: error === undefined ? attributes : { ...attributes, [names.errorType]: error },
        links: (links ?? []).map((link) => ({ context: contextOf(link) })),
      },
      parent,
    );
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(endedAt);
  }

  /** Sends what waits, for as long as it may take, in milliseconds. The rest is dropped. */
  async stop(withinMs: number): Promise<void> {
    const deadline = setTimeout(() => this.#exporter.abort(), withinMs);
    await this.#provider.shutdown().catch(() => undefined); // What was dropped has been told.
    await this.#exporter.shutdown();
    clearTimeout(deadline);
  }

  #tracer() {
    return this.#provider.getTracer('sluice');
  }
}

function contextOf({ traceId, spanId, isSampled }: TraceContext) {
  return {
    traceId,
    spanId,
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
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
