import { type Attributes, type SpanContext, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { TraceContext } from '@sluice/runtime';
import { names } from './conventions.ts';
import type { FinishedSpan, SpanAttributes } from './finished-span.ts';
import type { OtlpOptions } from './otlp-exporter.ts';

const serializers = { 'http/protobuf': ProtobufTraceSerializer, 'http/json': JsonTraceSerializer };

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };

/** The name of the instrumentation, which all spans have in common. */
const instrumentationScope = { name: 'sluice' };

/** Writes spans of a process as the body of an export. `resource` says what the process is. */
export function otlpBody(
  spans: readonly FinishedSpan[],
  resource: Readonly<Record<string, string>>,
  protocol: OtlpOptions['protocol'],
): Uint8Array {
  const shared = { resource: resourceFromAttributes(resource), instrumentationScope };
  const body = serializers[protocol].serializeRequest(spans.map((span) => ({ ...shared, ...ofSdk(span) })));
  if (!body) throw new TypeError('The spans cannot be written');
  return body;
}

function ofSdk(span: FinishedSpan): Omit<ReadableSpan, 'resource' | 'instrumentationScope'> {
  const { name, kind, context, parentSpanId, startedAt, endedAt, links = [], error } = span;
  return {
    name,
    kind: kinds[kind],
    spanContext: () => contextOf(context),
    ...(parentSpanId !== undefined && {
      // A parent is said to be of another process: some are, and nobody reads more from it.
      parentSpanContext: { ...contextOf(context), spanId: parentSpanId, isRemote: true },
    }),
    startTime: secondsAndNanoseconds(startedAt),
    // A clock that was set back makes no span end before it begins.
    endTime: secondsAndNanoseconds(Math.max(startedAt, endedAt)),
    duration: [0, 0],
    attributes: attributesOf([...span.attributes, [[names.errorType, error]]]),
    links: links.map((link) => ({ context: contextOf(link) })),
    status: { code: error === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
    events: [],
    ended: true,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function contextOf({ traceId, spanId, isSampled }: TraceContext): SpanContext {
  return { traceId, spanId, traceFlags: isSampled ? 1 : 0 };
}

function secondsAndNanoseconds(ms: number): [seconds: number, nanoseconds: number] {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}

function attributesOf(groups: readonly SpanAttributes[]): Attributes {
  const attributes: Attributes = {};
  for (const group of groups) {
    for (const [name, value] of group) {
      if (value !== undefined) attributes[name] = typeof value === 'object' ? [...value] : value;
    }
  }
  return attributes;
}
