import { type FakeOtlpReceiver, type ReceivedSpan, startFakeOtlpReceiver } from '@sluice/testing';
import { describe, it } from 'vitest';
import { startScriptedUpstream } from './scripted-upstream.ts';
import { startService } from './service.ts';

/** Variables that send the spans of a service to a receiver soon. */
function tracedBy(receiver: FakeOtlpReceiver, more: Record<string, string> = {}): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    ...more,
  };
}

const caller = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const traceparent = `00-${caller.traceId}-${caller.spanId}-01`;
const requestName = 'POST /v1/responses';

function only<Value>(values: readonly Value[]): Value {
  const [value] = values;
  if (value === undefined || values.length !== 1) throw new Error(`there are ${values.length}`);
  return value;
}

/** Whether one span lies in another one; times are rounded to milliseconds. */
function liesIn(inner: ReceivedSpan, outer: ReceivedSpan): boolean {
  return inner.startedAt >= outer.startedAt - 2 && inner.endedAt <= outer.endedAt + 2;
}

describe('traces', () => {
  it('show a request, its wait, its attempt and the call of the model as one trace of its caller', async ({
    expect,
  }) => {
    await using receiver = await startFakeOtlpReceiver();
    const upstream = await startScriptedUpstream();
    await using service = await startService({
      settings: {
        providers: [{ id: 'upstream', type: 'openai-chat', baseUrl: upstream.fake.baseUrl }],
        models: [{ id: 'traced', routes: [{ provider: 'upstream', model: 'big-model' }] }],
      },
      env: tracedBy(receiver),
    });

    const response = await fetch(`${service.apiUrls[0]}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json', traceparent },
      body: JSON.stringify({ model: 'traced', input: 'Hello' }),
    });
    expect(response.status).toBe(200);

    const request = only(await receiver.named(requestName));
    const wait = only(await receiver.named('sluice.queue.wait'));
    const attempt = only(await receiver.named('sluice.attempt'));
    const call = only(await receiver.named('chat big-model'));
    for (const span of [request, wait, attempt, call]) expect(span.traceId).toBe(caller.traceId);
    expect(request.parentSpanId).toBe(caller.spanId);
    expect([wait.parentSpanId, attempt.parentSpanId]).toEqual([request.spanId, request.spanId]);
    expect(call.parentSpanId).toBe(attempt.spanId);
    expect([request.kind, wait.kind, attempt.kind, call.kind]).toEqual([2, 1, 1, 3]);
    expect([request.service, attempt.service]).toEqual(['sluice-api', 'sluice-worker']);
    expect([wait, attempt].every((span) => liesIn(span, request)) && liesIn(call, attempt)).toBe(true);
    const [sent] = upstream.fake.requests;
    expect(sent?.headers['traceparent']).toBe(`00-${caller.traceId}-${call.spanId}-01`);
    await upstream.close();
  });
});
