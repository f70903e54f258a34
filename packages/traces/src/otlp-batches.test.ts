import { type Attributes, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import type { AttributeValue, FinishedSpan, SpanAttributes } from './finished-span.ts';
import { JsonBatch } from './json-batch.ts';
import { ProtobufBatch } from './protobuf-batch.ts';
import type { SpanBatch } from './span-batch.ts';

/*
 * What is written is compared with what the SDK of OpenTelemetry writes for the same spans, each read by a reader of Protocol Buffers that
 * is made from OTLP's own definition.
 */

/** The part of `opentelemetry-proto` 1.x that spans are made of. */
const definition = `
  syntax = "proto3";
  message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5; } }
  message ArrayValue { repeated AnyValue values = 1; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message Scope { string name = 1; string version = 2; }
  message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
  message Status { string message = 2; int32 code = 3; }
  message Link { bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4; uint32 dropped_attributes_count = 5; fixed32 flags = 6; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
    fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9; uint32 dropped_attributes_count = 10;
    uint32 dropped_events_count = 12; repeated Link links = 13; uint32 dropped_links_count = 14; Status status = 15; fixed32 flags = 16;
  }
  message ScopeSpans { Scope scope = 1; repeated Span spans = 2; string schema_url = 3; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
  message ExportRequest { repeated ResourceSpans resource_spans = 1; }
`;
const exportRequest = protobuf.parse(definition).root.lookupType('ExportRequest');

/** Without a difference between what is left out and what is said to be nothing. */
function decoded(bytes: Uint8Array): unknown {
  const options = { longs: String, bytes: String, defaults: true, oneofs: true };
  const request = exportRequest.toObject(exportRequest.decode(bytes), options);
  return JSON.parse(JSON.stringify(request), (key, value: unknown) =>
    key === 'status' ? (value ?? { code: 0, message: '' }) : value,
  );
}

function attributes(values: Record<string, AttributeValue | undefined>): SpanAttributes {
  return Object.entries(values);
}

const origin = {
  scope: 'sluice',
  resource: attributes({
    'service.name': 'sluice-api',
    'deployment.environment.name': 'prüfung',
    'host.cpus': 2,
  }),
};
const traceId = '0af7651916cd43dd8448eb211c80319c';
const context = { traceId, spanId: 'b7ad6b7169203331', isSampled: true };

const plain: FinishedSpan = {
  name: 'POST /v1/responses',
  kind: 'server',
  context,
  parentSpanId: undefined,
  startedAt: 1_795_415_000_123.456,
  endedAt: 1_795_415_000_999,
  attributes: [],
};

const spans: Record<string, FinishedSpan> = {
  'a span without anything': plain,
  'kinds, parents and groups of attributes': {
    ...plain,
    kind: 'client',
    parentSpanId: '00f067aa0ba902b7',
    attributes: [
      attributes({ 'sluice.tenant': 'acme', 'sluice.attempt.number': 3 }),
      attributes({ 'gen_ai.request.stream': true }),
    ],
  },
  'what is not known': { ...plain, attributes: [attributes({ known: 'yes', unknown: undefined })] },
  'values of every type': {
    ...plain,
    attributes: [
      attributes({
        no: false,
        yes: true,
        none: 0,
        small: 127,
        larger: 128,
        largest: Number.MAX_SAFE_INTEGER,
      }),
      attributes({ share: 0.125, list: ['stop', 'длина', ''] }),
    ],
  },
  'texts of every length and alphabet': {
    ...plain,
    name: 'chat 模型 🦊',
    attributes: [
      [0, 1, 126, 127, 128, 129, 16_383, 16_384, 70_000].map((length) => [`a${length}`, 'x'.repeat(length)]),
      attributes({ long: 'é'.repeat(9_000), lone: 'one \ud800 half' }),
    ],
  },
  'an error': {
    ...plain,
    error: 'upstream_error',
    attributes: [attributes({ 'http.response.status_code': 502 })],
  },
  'links to other traces': {
    ...plain,
    links: [
      { traceId: 'f'.repeat(32), spanId: '0'.repeat(15) + '1', isSampled: true },
      { ...context, isSampled: false },
    ],
  },
  'an end before the start': { ...plain, endedAt: 5 },
  'times at the edges of numbers': { ...plain, startedAt: 4_294_967_296_000, endedAt: 4_294_967_295_999.999 },
  'a time in 1970': { ...plain, startedAt: 0, endedAt: 65_536_000.000_5 },
};

const scope = { name: origin.scope };
const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };

function ofAttributes(pairs: SpanAttributes): Attributes {
  const known = pairs.filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    known.map(([name, value]) => [name, Array.isArray(value) ? [...value] : value]),
  ) as Attributes; // No value is undefined.
}

function ofResource() {
  return resourceFromAttributes(ofAttributes(origin.resource));
}

/** The same span, as the SDK has it. */
function ofSdk(span: FinishedSpan, resource = ofResource()): ReadableSpan {
  const contextOf = ({ isSampled, ...ids }: typeof context) => ({ ...ids, traceFlags: isSampled ? 1 : 0 });
  const time = (ms: number): [number, number] => {
    const seconds = Math.floor(ms / 1000);
    return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
  };
  return {
    ...plain,
    name: span.name,
    kind: kinds[span.kind],
    spanContext: () => contextOf(span.context),
    ...(span.parentSpanId !== undefined && {
      parentSpanContext: { traceId, spanId: span.parentSpanId, traceFlags: 1, isRemote: true },
    }),
    startTime: time(span.startedAt),
    endTime: time(Math.max(span.startedAt, span.endedAt)),
    duration: [0, 0],
    status: { code: span.error === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
    attributes: ofAttributes([...span.attributes.flat(), ['error.type', span.error]]),
    links: (span.links ?? []).map((link) => ({ context: contextOf(link) })),
    events: [],
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function written(batch: SpanBatch, of: readonly FinishedSpan[]): Uint8Array {
  for (const span of of) batch.add(span);
  expect(batch.count).toBe(of.length);
  return batch.finish();
}

describe('a batch as protobuf', () => {
  it.each(Object.keys(spans))('says what the SDK says: %s', (name) => {
    const span = spans[name] ?? plain;
    const bytes = written(new ProtobufBatch(origin), [span]);
    const expected = ProtobufTraceSerializer.serializeRequest([ofSdk(span)]);
    expect(decoded(bytes)).toEqual(decoded(expected ?? new Uint8Array()));
  });

  it('has all of its spans, in their order', () => {
    const many = Array.from({ length: 60 }, () => Object.values(spans)).flat();
    const resource = ofResource();
    const bytes = written(new ProtobufBatch(origin), many);
    const expected = ProtobufTraceSerializer.serializeRequest(many.map((span) => ofSdk(span, resource)));
    expect(decoded(bytes)).toEqual(decoded(expected ?? new Uint8Array()));
  });
});

describe('a batch as JSON', () => {
  /** Without what may be left out, and with 64-bit numbers as texts, which is how they are to be written. */
  const told = (bytes: Uint8Array): unknown =>
    JSON.parse(Buffer.from(bytes).toString(), (key, value: unknown) => {
      if (key === 'intValue') return String(value);
      const isNothing = value === 0 || (Array.isArray(value) && value.length === 0);
      return isNothing && /^dropped|^events$|^attributes$|^links$|^code$/.test(key) ? undefined : value;
    });

  it.each(Object.keys(spans))('says what the SDK says: %s', (name) => {
    const span = spans[name] ?? plain;
    const bytes = written(new JsonBatch(origin), [span]);
    const expected = told(JsonTraceSerializer.serializeRequest([ofSdk(span)]) ?? new Uint8Array());
    expect(told(bytes)).toEqual(expected);
  });
});
