import { randomBytes } from './random-bytes.ts';

/** Where a piece of work stands in a trace, as W3C Trace Context has it. */
export interface TraceContext {
  /** 32 hexadecimal digits, not all of them 0. */
  traceId: string;
  /** 16 hexadecimal digits, not all of them 0. */
  spanId: string;
  isSampled: boolean;
}

/** A request of the api in its trace. */
export interface RequestTrace extends TraceContext {
  /** The caller's span; undefined where the trace begins with the request. */
  parentSpanId: string | undefined;
}

/** An attempt in its trace: that of its response, or one of its own that is linked with it. */
export interface AttemptTrace extends TraceContext {
  /** The span that accepted the response. */
  origin: TraceContext;
  /** Whether it is in the trace of its response. */
  isJoined: boolean;
  /** Whether it ends the wait that began with the accept: nobody has claimed the response before. */
  isFirst: boolean;
}

const traceparent = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Longer than any version of the header that there is. */
const longest = 256;

/** Parses a `traceparent`; undefined if there is none, or if it breaks the rules. */
export function parseTraceparent(text: unknown): TraceContext | undefined {
  if (typeof text !== 'string' || text.length > longest) return undefined;
  const [, version, traceId, spanId, flags, more] = traceparent.exec(text) ?? [];
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined)
    return undefined;
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (isZero(traceId) || isZero(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function printTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** A new span in the trace of another one. */
export function childOf({ traceId, isSampled }: TraceContext): TraceContext {
  return { traceId, spanId: hex(8), isSampled };
}

export function newTraceId(): string {
  return hex(16);
}

/**
 * The trace of an attempt of a response that has one. After an attempt that was lost with its process it begins a trace of
 * its own: the spans of the lost one may never be sent, and it may still run.
 */
export function traceOfAttempt(
  origin: TraceContext,
  { losses, isFirst }: { losses: number; isFirst: boolean },
): AttemptTrace {
  const isJoined = losses === 0;
  const context = childOf(origin);
  return { ...context, traceId: isJoined ? origin.traceId : newTraceId(), origin, isJoined, isFirst };
}

/** Random digits that no id has had. They are made many at a time, because printing them took most of the time of an id. */
let digits = '';
const digitsAtOnce = 4096;

/** Not all zeros, which would be invalid. */
function hex(bytes: number): string {
  const length = bytes * 2;
  for (;;) {
    if (digits.length < length) digits = Buffer.from(randomBytes(digitsAtOnce / 2)).toString('hex');
    const text = digits.slice(0, length);
    digits = digits.slice(length);
    if (!isZero(text)) return text;
  }
}

function isZero(text: string): boolean {
  return text.startsWith('0') && /^0+$/.test(text);
}
