import type { TraceContext } from '@sluice/runtime';

export type SpanKind = 'server' | 'client' | 'internal';

/** An absent attribute is undefined. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | string[] | undefined>>;

/** A span that is over. Times are milliseconds since 1970. */
export interface FinishedSpan {
  name: string;
  kind: SpanKind;
  context: TraceContext;
  /** Undefined for the first of a trace. */
  parentSpanId: string | undefined;
  startedAt: number;
  endedAt: number;
  attributes: SpanAttributes;
  /** Spans of other traces that it has to do with. */
  links?: readonly TraceContext[];
  /** A code for what went wrong, never a text; undefined where nothing did. */
  error?: string | undefined;
}

/** Takes spans of sampled traces at once, and waits for nothing. */
export type SpanSink = (span: FinishedSpan) => void;
