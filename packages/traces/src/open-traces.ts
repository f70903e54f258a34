import { childOf, newTraceId, parseTraceparent, type RequestTrace, type Telemetry } from '@sluice/runtime';
import { traceAttempts } from './attempt-spans.ts';
import type { SpanSink } from './finished-span.ts';
import type { OtlpOptions } from './otlp-exporter.ts';
import { traceRequests } from './request-spans.ts';

export interface TraceOptions {
  settings: OtlpOptions & {
    /** Undefined for a name by the role. */
    serviceName: string | undefined;
    resource: Readonly<Record<string, string>>;
    sampler: { name: SamplerName; ratio: number };
    /** Whether `traceparent` of callers is heeded. */
    propagates: boolean;
    /** Spans that wait at most, spans of one export, and how long they are gathered. */
    batch: { most: number; size: number; delayMs: number };
  };
  service: { role: 'api' | 'worker'; version: string; instance: string };
  /** Told why spans were dropped. */
  onDropped: (error: unknown, spans: number) => void;
}

type SamplerName =
  | 'always_on'
  | 'always_off'
  | 'traceidratio'
  | 'parentbased_always_on'
  | 'parentbased_always_off'
  | 'parentbased_traceidratio';

/** The traces of a process that has them. */
export interface Traces {
  /** The trace of a request that came with this `traceparent`. One that breaks the rules is taken for none. */
  begin: (traceparent: unknown) => RequestTrace;
  /** Makes spans of what happens. `now` is the clock of their times, in milliseconds since 1970. */
  listen: (telemetry: Telemetry, now: () => number) => void;
  /** Sends what waits for as long as that may take, in milliseconds, and drops the rest. Nothing is recorded any more. */
  stop: (withinMs: number) => Promise<void>;
}

/**
 * Opens the traces of a process, and loads what that needs. Undefined without settings: nothing is loaded then.
 *
 * Nothing waits for a receiver. While it is away or slow, a bounded number of spans waits, and what is more is dropped.
 */
export async function openTraces(
  settings: TraceOptions['settings'] | undefined,
  options: Omit<TraceOptions, 'settings'>,
): Promise<Traces | undefined> {
  if (!settings) return undefined;
  const { Sdk } = await import('./sdk.ts');
  const sdk = new Sdk({ settings, ...options });
  const sink: SpanSink = (span) => sdk.add(span);
  return {
    begin(traceparent) {
      const parent = settings.propagates ? parseTraceparent(traceparent) : undefined;
      const traceId = parent?.traceId ?? newTraceId();
      const isSampled = sdk.isSampled(traceId, parent);
      return { ...childOf({ traceId, spanId: '', isSampled }), parentSpanId: parent?.spanId };
    },
    listen(telemetry, now) {
      traceRequests(telemetry, sink, now);
      traceAttempts(telemetry, sink, now);
    },
    stop: (withinMs) => sdk.stop(withinMs),
  };
}
