import type { TraceContext } from '@sluice/runtime';
import { names } from './conventions.ts';
import type { AttributeValue, FinishedSpan, SpanAttributes } from './finished-span.ts';
import { ProtobufBytes, wire } from './protobuf-bytes.ts';
import { endOf, flagsOf, isCount, otlp, type SpanBatch, type SpanOrigin } from './span-batch.ts';

const bytesField = (number: number) => number * 8 + wire.bytes;

/** Tags of the fields of OTLP 1.x, by message: `opentelemetry/proto/trace/v1/trace.proto` and `common/v1/common.proto`. */
const tags = {
  request: { resourceSpans: bytesField(1) },
  resourceSpans: { resource: bytesField(1), scopeSpans: bytesField(2) },
  resource: { attributes: bytesField(1) },
  scopeSpans: { scope: bytesField(1), spans: bytesField(2) },
  scope: { name: bytesField(1) },
  span: {
    traceId: bytesField(1),
    spanId: bytesField(2),
    parentSpanId: bytesField(4),
    name: bytesField(5),
    kind: 6 * 8 + wire.varint,
    start: 7 * 8 + wire.fixed64,
    end: 8 * 8 + wire.fixed64,
    attributes: bytesField(9),
    links: bytesField(13),
    status: bytesField(15),
    flags: 16 * 8 + wire.fixed32,
  },
  link: { traceId: bytesField(1), spanId: bytesField(2), flags: 6 * 8 + wire.fixed32 },
  status: { code: 3 * 8 + wire.varint },
  keyValue: { key: bytesField(1), value: bytesField(2) },
  anyValue: {
    string: bytesField(1),
    bool: 2 * 8 + wire.varint,
    int: 3 * 8 + wire.varint,
    double: 4 * 8 + wire.fixed64,
    array: bytesField(5),
  },
  arrayValue: { values: bytesField(1) },
} as const;

/** The keys of attributes as they are written. They are the names of the conventions, and there is a table of those. */
const writtenKeys = new Map<string, Uint8Array>();

/** Writes spans as the protobuf of OTLP. */
export class ProtobufBatch implements SpanBatch {
  readonly #origin: SpanOrigin;
  readonly #spans = new ProtobufBytes();
  #count = 0;

  constructor(origin: SpanOrigin) {
    this.#origin = origin;
  }

  get count(): number {
    return this.#count;
  }

  add(span: FinishedSpan): void {
    const to = this.#spans;
    const { context, parentSpanId, attributes, links, error } = span;
    to.varint(tags.scopeSpans.spans);
    const start = to.begin();
    to.hex(tags.span.traceId, context.traceId);
    to.hex(tags.span.spanId, context.spanId);
    if (parentSpanId !== undefined) to.hex(tags.span.parentSpanId, parentSpanId);
    to.string(tags.span.name, span.name);
    to.varint(tags.span.kind);
    to.varint(otlp.kinds[span.kind]);
    to.varint(tags.span.start);
    to.nanoseconds(span.startedAt);
    to.varint(tags.span.end);
    to.nanoseconds(endOf(span));
    for (const group of attributes) writeAttributes(to, tags.span.attributes, group);
    if (error !== undefined) {
      writeAttribute(to, tags.span.attributes, names.errorType, error);
      to.varint(tags.span.status);
      to.varint(2);
      to.varint(tags.status.code);
      to.varint(otlp.errorStatus);
    }
    if (links !== undefined) for (const link of links) writeLink(to, link);
    to.varint(tags.span.flags);
    to.fixed32(flagsOf(span));
    to.end(start);
    this.#count += 1;
  }

  finish(): Uint8Array {
    const spans = this.#spans.written;
    const { resource, scope } = this.#origin;
    const to = new ProtobufBytes();
    to.varint(tags.resourceSpans.resource);
    const resourceStart = to.begin();
    writeAttributes(to, tags.resource.attributes, resource);
    to.end(resourceStart);
    const scopeName = new ProtobufBytes();
    scopeName.string(tags.scope.name, scope);
    const scopeBytes = message(tags.scopeSpans.scope, scopeName.written);
    to.raw(message(tags.resourceSpans.scopeSpans, Buffer.concat([scopeBytes, spans])));
    return message(tags.request.resourceSpans, to.written);
  }
}

/** A field with a message. */
function message(tag: number, content: Uint8Array): Buffer {
  const head = new ProtobufBytes();
  head.varint(tag);
  head.varint(content.length);
  return Buffer.concat([head.written, content]);
}

function writeLink(to: ProtobufBytes, { traceId, spanId, isSampled }: TraceContext): void {
  const { sampled, knowsWhetherRemote } = otlp.flags;
  to.varint(tags.span.links);
  const start = to.begin();
  to.hex(tags.link.traceId, traceId);
  to.hex(tags.link.spanId, spanId);
  to.varint(tags.link.flags);
  to.fixed32(knowsWhetherRemote | (isSampled ? sampled : 0));
  to.end(start);
}

function writeAttributes(to: ProtobufBytes, tag: number, attributes: SpanAttributes): void {
  for (const pair of attributes) {
    const value = pair[1];
    if (value !== undefined) writeAttribute(to, tag, pair[0], value);
  }
}

function writeAttribute(to: ProtobufBytes, tag: number, name: string, value: AttributeValue): void {
  to.varint(tag);
  const start = to.begin();
  to.raw(writtenKey(name));
  to.varint(tags.keyValue.value);
  const valueStart = to.begin();
  writeValue(to, value);
  to.end(valueStart);
  to.end(start);
}

function writeValue(to: ProtobufBytes, value: AttributeValue): void {
  if (typeof value === 'string') {
    to.string(tags.anyValue.string, value);
  } else if (typeof value === 'boolean') {
    to.varint(tags.anyValue.bool);
    to.varint(value ? 1 : 0);
  } else if (typeof value !== 'number') {
    to.varint(tags.anyValue.array);
    const start = to.begin();
    for (const each of value) {
      to.varint(tags.arrayValue.values);
      const eachStart = to.begin();
      writeValue(to, each);
      to.end(eachStart);
    }
    to.end(start);
  } else if (isCount(value)) {
    to.varint(tags.anyValue.int);
    to.varint(value);
  } else {
    to.varint(tags.anyValue.double);
    to.double(value);
  }
}

function writtenKey(name: string): Uint8Array {
  let written = writtenKeys.get(name);
  if (written === undefined) {
    const key = new ProtobufBytes();
    key.string(tags.keyValue.key, name);
    written = Uint8Array.from(key.written);
    writtenKeys.set(name, written);
  }
  return written;
}
