import type { TraceContext } from '@sluice/runtime';
import { names } from './conventions.ts';
import type { AttributeValue, FinishedSpan, SpanAttributes } from './finished-span.ts';
import { endOf, flagsOf, isCount, otlp, type SpanBatch, type SpanOrigin } from './span-batch.ts';

/** Writes spans as the JSON of OTLP: ids in hexadecimal, 64-bit numbers as texts. */
export class JsonBatch implements SpanBatch {
  readonly #origin: SpanOrigin;
  readonly #spans: string[] = [];

  constructor(origin: SpanOrigin) {
    this.#origin = origin;
  }

  get count(): number {
    return this.#spans.length;
  }

  add(span: FinishedSpan): void {
    const { name, kind, context, parentSpanId, startedAt, attributes, links = [], error } = span;
    this.#spans.push(
      JSON.stringify({
        traceId: context.traceId,
        spanId: context.spanId,
        parentSpanId,
        name,
        kind: otlp.kinds[kind],
        startTimeUnixNano: nanoseconds(startedAt),
        endTimeUnixNano: nanoseconds(endOf(span)),
        attributes: [
          ...attributes.flatMap(keyValues),
          ...(error === undefined ? [] : keyValues([[names.errorType, error]])),
        ],
        links: links.map(linkOf),
        status: error === undefined ? {} : { code: otlp.errorStatus },
        flags: flagsOf(span),
      }),
    );
  }

  finish(): Uint8Array {
    const { resource, scope } = this.#origin;
    const head = JSON.stringify({ attributes: keyValues(resource) });
    return Buffer.from(
      `{"resourceSpans":[{"resource":${head},"scopeSpans":[{"scope":${JSON.stringify({ name: scope })},"spans":[${this.#spans.join(',')}]}]}]}`,
    );
  }
}

function linkOf({ traceId, spanId, isSampled }: TraceContext) {
  const { sampled, knowsWhetherRemote } = otlp.flags;
  return { traceId, spanId, flags: knowsWhetherRemote | (isSampled ? sampled : 0) };
}

function keyValues(attributes: SpanAttributes): object[] {
  return attributes.flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: anyValue(value) }]));
}

function anyValue(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value !== 'number') return { arrayValue: { values: value.map(anyValue) } };
  return isCount(value) ? { intValue: String(value) } : { doubleValue: value };
}

function nanoseconds(ms: number): string {
  const whole = Math.floor(ms);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e6)));
}
