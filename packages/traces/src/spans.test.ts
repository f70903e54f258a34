import { type RequestTrace, Telemetry, type TelemetryEvents, traceOfAttempt } from '@sluice/runtime';
import { describe, expect, it } from 'vitest';
import { traceAttempts } from './attempt-spans.ts';
import type { FinishedSpan } from './finished-span.ts';
import { traceRequests } from './request-spans.ts';

const origin = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true };
const about = { responseId: 'r1', model: 'm', attempt: 1 };

function listening() {
  const spans: FinishedSpan[] = [];
  const clock = { now: 1_000 };
  const telemetry = new Telemetry((error) => {
    throw error;
  });
  traceRequests(
    telemetry,
    (span) => spans.push(span),
    () => clock.now,
  );
  traceAttempts(
    telemetry,
    (span) => spans.push(span),
    () => clock.now,
  );
  return { spans, clock, telemetry };
}

function claimed(
  more: { losses?: number; isFirst?: boolean; isSampled?: boolean } = {},
): TelemetryEvents['attempt.claimed'] {
  const { losses = 0, isFirst = true, isSampled = true } = more;
  return {
    ...about,
    tenant: 't',
    mode: 'whole',
    tier: 'default',
    acceptedAt: 900,
    claimedAt: 950,
    worker: 'w',
    trace: traceOfAttempt({ ...origin, isSampled }, { losses, isFirst }),
  };
}

const ended: TelemetryEvents['response.ended'] = {
  ...about,
  tenant: 't',
  status: 'completed',
  code: undefined,
  because: undefined,
  inputTokens: 1,
  outputTokens: 2,
};

describe('spans of attempts', () => {
  it('tell of a wait, an attempt that was broken off, and its call', () => {
    const { spans, clock, telemetry } = listening();
    telemetry.emit('attempt.claimed', claimed());
    clock.now = 1_010;
    const trace = { ...origin, spanId: 'c'.repeat(16) };
    telemetry.emit('attempt.called', { ...about, provider: 'p', upstreamModel: 'u', trace });
    telemetry.emit('attempt.first_token', { ...about, sinceCallMs: 500 });
    clock.now = 2_000;
    telemetry.emit('response.ended', { ...ended, status: 'cancelled' });

    expect(spans.map(({ name, startedAt, endedAt, error }) => [name, startedAt, endedAt, error])).toEqual([
      ['sluice.queue.wait', 900, 1_000, undefined],
      ['chat u', 1_010, 2_000, 'cancelled'],
      ['sluice.attempt', 1_000, 2_000, undefined],
    ]);
    expect(spans[1]?.attributes.flat()).toContainEqual(['gen_ai.response.time_to_first_chunk', 0.5]);
  });

  it('have a call for each route that was tried', () => {
    const { spans, telemetry } = listening();
    telemetry.emit('attempt.claimed', claimed({ isFirst: false }));
    for (const [provider, spanId] of [
      ['one', '1'.repeat(16)],
      ['two', '2'.repeat(16)],
    ] as const) {
      const trace = { ...origin, spanId };
      telemetry.emit('attempt.called', { ...about, provider, upstreamModel: provider, trace });
      const failure = { provider, upstreamStatus: 503, upstreamRequestId: undefined, error: undefined };
      telemetry.emit('attempt.failed', { ...about, ...failure, code: 'upstream_error' });
    }
    telemetry.emit('attempt.retried', { ...about, code: 'upstream_error', delayMs: 0 });

    expect(spans.map(({ name, error }) => [name, error])).toEqual([
      ['chat one', 'upstream_error'],
      ['chat two', 'upstream_error'],
      ['sluice.attempt', 'upstream_error'],
    ]);
  });

  it.each(['attempt.superseded', 'attempt.given_up', 'attempt.given_back', 'attempt.dropped'] as const)(
    'end with %s, once',
    (event) => {
      const { spans, telemetry } = listening();
      telemetry.emit('attempt.claimed', claimed({ isFirst: false, losses: 1 }));
      telemetry.emit(event, about);
      telemetry.emit('response.ended', ended);

      expect(spans).toHaveLength(1);
      expect(spans[0]).toMatchObject({
        parentSpanId: undefined,
        links: [origin],
        attributes: expect.arrayContaining([[['sluice.attempt.outcome', event.replace('attempt.', '')]]]),
      });
    },
  );

  it('are not made for what is not sampled, or has no trace', () => {
    const { spans, telemetry } = listening();
    telemetry.emit('attempt.claimed', claimed({ isSampled: false }));
    telemetry.emit('response.ended', ended);
    telemetry.emit('attempt.claimed', { ...claimed(), trace: undefined });
    telemetry.emit('attempt.called', { ...about, provider: 'p', upstreamModel: 'u' });
    telemetry.emit('response.ended', ended);

    expect(spans).toEqual([]);
  });
});

describe('spans of requests', () => {
  const trace: RequestTrace = { ...origin, spanId: 'd'.repeat(16), parentSpanId: origin.spanId };
  const answered = { route: '/v1/responses', method: 'POST', elapsedMs: 30, trace };

  it('are errors only where the service is at fault', () => {
    const { spans, telemetry } = listening();
    telemetry.emit('request.answered', { ...answered, status: 429 });
    telemetry.emit('request.answered', { ...answered, status: 503 });

    expect(spans.map(({ error }) => error)).toEqual([undefined, '503']);
    expect(spans[0]).toMatchObject({ startedAt: 970, endedAt: 1_000, parentSpanId: origin.spanId });
  });

  it('tell of a turn of a WebSocket by the code of its error', () => {
    const { spans, telemetry } = listening();
    telemetry.emit('turn.answered', { code: 'rate_limit_exceeded', elapsedMs: 5, trace });

    expect(spans[0]).toMatchObject({ kind: 'server', error: 'rate_limit_exceeded' });
  });
});
