import { childOf, newTraceId, parseTraceparent, type RequestTrace, type Telemetry } from '@sluice/runtime';
import { traceAttempts } from './attempt-spans.ts';
import { names } from './conventions.ts';
import type { SpanSink } from './finished-span.ts';
import { OtlpExporter, type OtlpOptions } from './otlp-exporter.ts';
import { traceRequests } from './request-spans.ts';
import { samplerOf, type SamplerSettings } from './sampler.ts';
import { SpanBatches } from './span-batches.ts';

export interface TraceOptions {
  settings: OtlpOptions & {
    /** Undefined for a name by the role. */
    serviceName: string | undefined;
    resource: Readonly<Record<string, string>>;
    sampler: SamplerSettings;
    /** Whether `traceparent` of callers is heeded. */
    propagates: boolean;
    /** Spans that wait at most, spans of one export, and how long they are gathered. */
    batch: { most: number; size: number; delayMs: number };
  };
  service: { role: 'api' | 'worker'; version: string; instance: string };
  /** Told why spans were dropped. */
  onDropped: (error: unknown, spans: number) => void;
}

/** The traces of a process that has them. */
export interface Traces {
  /** The trace of a request that came with this `traceparent`. An invalid one is ignored. */
  begin: (traceparent: unknown) => RequestTrace;
  /** Makes spans of the events of the process. `now` is the clock of their times, in milliseconds since 1970. */
  listen: (telemetry: Telemetry, now: () => number) => void;
  /** Sends the waiting spans for at most so many milliseconds, and drops the rest. Nothing is recorded any more. */
  stop: (withinMs: number) => Promise<void>;
}

/**
 * Opens the traces of a process. Undefined without settings: nothing listens and nothing is made then.
 *
 * Nothing waits for a receiver. While it is away or slow, a bounded number of spans waits, and further ones are dropped.
 */
export function openTraces(
  settings: TraceOptions['settings'] | undefined,
  options: Omit<TraceOptions, 'settings'>,
): Traces | undefined {
  if (!settings) return undefined;
  const { service, onDropped } = options;
  const resource = resourceOf(settings, service);
  const exporter = new OtlpExporter(settings);
  const isSampled = samplerOf(settings.sampler);
  const batches = new SpanBatches({
    async send(spans) {
      // The SDK is loaded with the first export, by processes that have traces.
      const { otlpBody } = await import('./otlp-body.ts');
      await exporter.send(otlpBody(spans, resource, settings.protocol));
    },
    limits: settings.batch,
    onDropped,
  });
  const sink: SpanSink = (span) => batches.add(span);
  return {
    begin(traceparent) {
      const parent = settings.propagates ? parseTraceparent(traceparent) : undefined;
      const traceId = parent?.traceId ?? newTraceId();
      const trace = childOf({ traceId, spanId: '', isSampled: isSampled(traceId, parent) });
      return { ...trace, parentSpanId: parent?.spanId };
    },
    listen(telemetry, now) {
      traceRequests(telemetry, sink, now);
      traceAttempts(telemetry, sink, now);
    },
    async stop(withinMs) {
      const deadline = setTimeout(() => exporter.abort(), withinMs);
      await batches.stop();
      clearTimeout(deadline);
      exporter.close();
    },
  };
}

function resourceOf(
  { serviceName, resource }: TraceOptions['settings'],
  service: TraceOptions['service'],
): Record<string, string> {
  return {
    [names.sdkLanguage]: 'nodejs',
    [names.sdkName]: 'sluice',
    [names.sdkVersion]: service.version,
    [names.serviceVersion]: service.version,
    [names.serviceInstance]: service.instance,
    [names.role]: service.role,
    ...resource,
    [names.serviceName]: serviceName ?? `sluice-${service.role}`,
  };
}
