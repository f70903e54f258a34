import type { FinishedSpan, SpanAttributes } from './finished-span.ts';

/** Spans of one export, written when they come: no object of a span waits. */
export interface SpanBatch {
  /** How many spans it has. */
  readonly count: number;
  add: (span: FinishedSpan) => void;
  /** The body of the export. Nothing is added afterwards. */
  finish: () => Uint8Array;
}

/** What all spans of a process have in common. */
export interface SpanOrigin {
  resource: SpanAttributes;
  scope: string;
}

/** Numbers of the enumerations of OTLP 1.x, `opentelemetry/proto/trace/v1/trace.proto`. */
export const otlp = {
  kinds: { internal: 1, server: 2, client: 3 },
  errorStatus: 2,
  /** Bits of `flags`: the sampled flag of the W3C, and that it is known whether the parent is of another process. */
  flags: { sampled: 0x1, knowsWhetherRemote: 0x100, isRemote: 0x200 },
} as const;

/**
 * The flags of a span that is sampled, as all are that are written. A parent is said to be of another process: some are, and nobody
 * reads more from it.
 */
export function flagsOf({ parentSpanId }: FinishedSpan): number {
  const { sampled, knowsWhetherRemote, isRemote } = otlp.flags;
  return sampled | knowsWhetherRemote | (parentSpanId === undefined ? 0 : isRemote);
}

/** When a span ended. A clock that was set back makes none of them end before it begins. */
export function endOf({ startedAt, endedAt }: FinishedSpan): number {
  return Math.max(startedAt, endedAt);
}

/** Whether a number is written as an integer. Counts and codes are; there is no negative one. */
export function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
