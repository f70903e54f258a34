import type { TraceContext } from '@sluice/runtime';

export type SpanKind = 'server' | 'client' | 'internal';

export type AttributeValue = string | number | boolean | readonly string[];

/** Names with their values. One whose value is undefined is absent. */
export type SpanAttributes = readonly (readonly [name: string, value: AttributeValue | undefined])[];

/** A span that is over. Times are milliseconds since 1970. */
export interface FinishedSpan {
  name: string;
  kind: SpanKind;
  context: TraceContext;
  /** Undefined for the first of a trace. */
  parentSpanId: string | undefined;
  startedAt: number;
  endedAt: number;
  /** In groups, as they become known at different times. No name is in two of them. */
  attributes: readonly SpanAttributes[];
  /** Related spans of other traces. */
  links?: readonly TraceContext[];
  /** A code for what went wrong, never a text; undefined where nothing did. */
  error?: string | undefined;
}

/** Takes spans of sampled traces at once, and waits for nothing. */
export type SpanSink = (span: FinishedSpan) => void;
