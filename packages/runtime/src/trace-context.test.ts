import { describe, expect, it } from 'vitest';
import { childOf, parseTraceparent, printTraceparent, traceOfAttempt } from './trace-context.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const origin = { traceId, spanId, isSampled: true };

describe('parseTraceparent', () => {
  it('reads what it prints', () => {
    for (const isSampled of [true, false]) {
      const context = { traceId, spanId, isSampled };
      expect(parseTraceparent(printTraceparent(context))).toEqual(context);
    }
  });

  it('reads flags and members of versions to come', () => {
    expect(parseTraceparent(`00-${traceId}-${spanId}-03`)?.isSampled).toBe(true);
    expect(parseTraceparent(`00-${traceId}-${spanId}-02`)?.isSampled).toBe(false);
    expect(parseTraceparent(`cc-${traceId}-${spanId}-01-what-comes`)).toEqual(origin);
  });

  it.each([
    undefined,
    '',
    ['a', 'b'],
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${traceId}-${spanId}-01\n`,
    ` 00-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-1`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${traceId.slice(1)}g-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `cc-${traceId}-${spanId}-01-${'a'.repeat(10_000)}`,
    '-'.repeat(100_000),
  ])('takes %j for none', (text) => {
    expect(parseTraceparent(text)).toBeUndefined();
  });
});

describe('the trace of an attempt', () => {
  it('is that of its response, with a span of its own', () => {
    const trace = traceOfAttempt(origin, { losses: 0, isFirst: true });
    expect(trace).toMatchObject({ traceId, isSampled: true, origin, isJoined: true, isFirst: true });
    expect(trace.spanId).toMatch(/^[\da-f]{16}$/);
    expect(trace.spanId).not.toBe(childOf(origin).spanId);
  });

  it('is another one after a run that died with its process, and sampled as that', () => {
    const trace = traceOfAttempt({ ...origin, isSampled: false }, { losses: 1, isFirst: false });
    expect(trace).toMatchObject({ isJoined: false, isSampled: false });
    expect(trace.traceId).toMatch(/^[\da-f]{32}$/);
    expect(trace.traceId).not.toBe(traceId);
  });
});
