import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type FakeOtlpReceiver,
  type FakeUpstream,
  type ReceivedSpan,
  startFakeOtlpReceiver,
  startFakeUpstream,
} from '@sluice/testing';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { describe, it } from 'vitest';
import { startScriptedUpstream } from './scripted-upstream.ts';
import { type Service, startService } from './service.ts';
import { storeContents } from './store-contents.ts';

/** Variables that send the spans of a service to a receiver soon. */
function tracedBy(receiver: FakeOtlpReceiver, more: Record<string, string> = {}): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    ...more,
  };
}

/** Settings with one model of this name there, at an upstream. */
function modelAt({ baseUrl }: FakeUpstream, model = 'big-model') {
  return {
    providers: [{ id: 'upstream', type: 'openai-chat', baseUrl, apiKey: 'canary-upstream-key' }],
    models: [{ id: 'traced', routes: [{ provider: 'upstream', model }] }],
  };
}

const caller = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const requestName = 'POST /v1/responses';
const waitName = 'sluice.queue.wait';
const attemptName = 'sluice.attempt';
const callName = 'chat big-model';

function post(service: Service, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${service.apiUrls[0]}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'traced', input: 'Hello', ...body }),
  });
}

function traceparentOf({ isSampled = true, traceId = caller.traceId } = {}): string {
  return `00-${traceId}-${caller.spanId}-${isSampled ? '01' : '00'}`;
}

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
      settings: modelAt(upstream.fake),
      env: tracedBy(receiver),
    });

    const response = await post(service, {}, { traceparent: traceparentOf() });
    expect(response.status).toBe(200);
    const { id } = (await response.json()) as { id: string };

    const request = only(await receiver.named(requestName));
    const wait = only(await receiver.named(waitName));
    const attempt = only(await receiver.named(attemptName));
    const call = only(await receiver.named(callName));
    for (const span of [request, wait, attempt, call]) {
      expect(span).toMatchObject({ traceId: caller.traceId, status: 0, links: [] });
      expect(span.attributes['sluice.response.id']).toBe(id);
    }
    expect(request.parentSpanId).toBe(caller.spanId);
    expect([wait.parentSpanId, attempt.parentSpanId]).toEqual([request.spanId, request.spanId]);
    expect(call.parentSpanId).toBe(attempt.spanId);
    expect([request.kind, wait.kind, attempt.kind, call.kind]).toEqual([2, 1, 1, 3]);
    expect([request.service, attempt.service]).toEqual(['sluice-api', 'sluice-worker']);
    expect(wait.endedAt).toBe(attempt.startedAt);
    expect(liesIn(call, attempt)).toBe(true);
    expect(call.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'upstream',
      'gen_ai.request.model': 'big-model',
      'gen_ai.response.finish_reasons': ['stop'],
    });
    expect(upstream.fake.requests[0]?.headers['traceparent']).toBe(`00-${caller.traceId}-${call.spanId}-01`);
    await upstream.close();
  });

  it('show a stream, whose reader comes back in a trace of its own that is linked', async ({ expect }) => {
    await using receiver = await startFakeOtlpReceiver();
    const upstream = await startScriptedUpstream();
    await using service = await startService({
      settings: modelAt(upstream.fake),
      env: tracedBy(receiver),
    });

    const streamed = await post(service, { stream: true, background: true });
    const events = await streamed.text();
    const [, id] = /"response":\{"id":"([^"]+)"/.exec(events) ?? [];
    const resumed = await fetch(`${service.apiUrls[0]}/v1/responses/${id}?stream=true&starting_after=1`, {
      headers: { authorization: `Bearer ${service.key}` },
    });
    expect(await resumed.text()).toContain('response.completed');

    const request = only(await receiver.named(requestName));
    const call = only(await receiver.named(callName));
    const reader = only(await receiver.named('GET /v1/responses/:id'));
    expect(request.parentSpanId).toBe('');
    expect(call.traceId).toBe(request.traceId);
    expect(call.attributes['gen_ai.response.time_to_first_chunk']).toBeTypeOf('number');
    expect(reader.traceId).not.toBe(request.traceId);
    expect(reader.links).toEqual([{ traceId: request.traceId, spanId: request.spanId }]);
    expect(reader.attributes['sluice.response.id']).toBe(id);
    await upstream.close();
  });

  it('show each turn of a WebSocket as a trace', async ({ expect }) => {
    await using receiver = await startFakeOtlpReceiver();
    const upstream = await startScriptedUpstream();
    await using service = await startService({
      settings: modelAt(upstream.fake),
      env: tracedBy(receiver),
    });
    const [url = ''] = service.apiUrls;
    const socket = new ResponsesWS(new OpenAI({ baseURL: `${url}/v1`, apiKey: service.key }), {
      reconnect: null,
    });
    for (const input of ['One.', 'Two.']) {
      const completed = new Promise<void>((resolve) =>
        socket.on('event', ({ type }) => type === 'response.completed' && resolve()),
      );
      socket.send({ type: 'response.create', model: 'traced', input });
      await completed;
    }

    const turns = await receiver.named('WEBSOCKET response.create', 2);
    const calls = await receiver.named(callName, 2);
    expect(new Set(turns.map(({ traceId }) => traceId)).size).toBe(2);
    expect(calls.map(({ traceId }) => traceId).toSorted()).toEqual(
      turns.map(({ traceId }) => traceId).toSorted(),
    );
    socket.close();
    await upstream.close();
  });

  it('show a failed attempt and its retry side by side, by codes alone', async ({ expect }) => {
    await using receiver = await startFakeOtlpReceiver();
    const upstream = await startFakeUpstream();
    upstream.onChatCompletions(async ({ json, stream }) => {
      if (upstream.requests.length === 1) return json(500, { error: { message: 'canary-of-the-upstream' } });
      const answer = stream();
      await answer.send({ choices: [{ index: 0, delta: { content: '.' }, finish_reason: 'stop' }] });
      answer.done();
    });
    await using service = await startService({ settings: modelAt(upstream), env: tracedBy(receiver) });

    const response = await post(service, {});
    expect(response.status).toBe(200);

    const request = only(await receiver.named(requestName));
    const attempts = (await receiver.named(attemptName, 2)).toSorted((a, b) => a.startedAt - b.startedAt);
    const [failed, followed] = attempts;
    for (const { traceId, parentSpanId } of attempts) {
      expect([traceId, parentSpanId]).toEqual([request.traceId, request.spanId]);
    }
    expect(failed).toMatchObject({ status: 2 });
    expect(failed?.attributes).toMatchObject({
      'sluice.attempt.outcome': 'retried',
      'sluice.attempt.number': 1,
      'error.type': 'upstream_error',
    });
    expect(followed).toMatchObject({ status: 0 });
    const calls = await receiver.named(callName, 2);
    const refused = calls.find(({ parentSpanId }) => parentSpanId === failed?.spanId);
    expect(refused?.attributes).toMatchObject({
      'error.type': 'upstream_error',
      'http.response.status_code': 500,
    });
    expect(only(await receiver.named(waitName)).parentSpanId).toBe(request.spanId);
    expect(receiver.texts.join('\n')).not.toContain('canary');
    await upstream.close();
  });

  it('link the attempt after a crash with its response, and join it not', async ({ expect }) => {
    await using receiver = await startFakeOtlpReceiver();
    const upstream = await startScriptedUpstream();
    await using service = await startService({
      settings: { ...modelAt(upstream.fake), recovery: { lockMs: 3_000, stalledMs: 500 } },
      env: tracedBy(receiver),
    });
    const expected = upstream.expect('nothing');
    const pending = post(service, { input: expected.input });
    await expected.arrived.wait();
    await service.addWorker();

    await service.workers[0]?.kill();
    expected.finish();

    expect((await pending).status).toBe(200);
    const request = only(await receiver.named(requestName));
    const attempt = only(await receiver.named(attemptName));
    const call = only(await receiver.named(callName));
    expect(attempt.traceId).not.toBe(request.traceId);
    expect(attempt.parentSpanId).toBe('');
    expect(attempt.links).toEqual([{ traceId: request.traceId, spanId: request.spanId }]);
    expect([call.traceId, call.parentSpanId]).toEqual([attempt.traceId, attempt.spanId]);
    expect(upstream.fake.requests.at(-1)?.headers['traceparent']).toContain(attempt.traceId);
    await upstream.close();
  });

  it('begin anew where a caller sends a broken traceparent, and have no spans where it asks for none', async ({
    expect,
  }) => {
    await using receiver = await startFakeOtlpReceiver();
    const upstream = await startScriptedUpstream();
    await using service = await startService({
      settings: modelAt(upstream.fake),
      env: tracedBy(receiver),
    });

    const unsampled = await post(service, {}, { traceparent: traceparentOf({ isSampled: false }) });
    const { id } = (await unsampled.json()) as { id: string };
    const broken = [
      `${traceparentOf()}-more`,
      traceparentOf({ traceId: '0'.repeat(32) }),
      traceparentOf({ traceId: caller.traceId.toUpperCase() }),
      traceparentOf({ traceId: `${caller.traceId.slice(1)}'` }),
      `00-${'a'.repeat(5_000)}-${caller.spanId}-01`,
      'nonsense',
    ];
    for (const traceparent of broken) {
      expect((await post(service, {}, { traceparent })).status).toBe(200);
    }

    const requests = await receiver.named(requestName, broken.length);
    await receiver.named(attemptName, broken.length);
    for (const { traceId, parentSpanId } of requests) {
      expect(traceId).not.toBe(caller.traceId);
      expect(parentSpanId).toBe('');
    }
    // What came first would have arrived by now.
    expect(receiver.spans.filter(({ traceId }) => traceId === caller.traceId)).toEqual([]);
    expect(receiver.texts.join('\n')).not.toContain(id);
    const [sent] = upstream.fake.requests;
    expect(sent?.headers['traceparent']).toMatch(new RegExp(`^00-${caller.traceId}-[0-9a-f]{16}-00$`));
    await upstream.close();
  });

  it('hold nothing of prompts, answers, keys or metadata', async ({ expect }) => {
    await using receiver = await startFakeOtlpReceiver();
    const upstream = await startFakeUpstream();
    upstream.onChatCompletions(async ({ request, json, stream }) => {
      if (JSON.stringify(request.body).includes('refuse')) {
        return json(400, { error: { message: 'canary-refusal', code: 'canary-code' } });
      }
      const answer = stream();
      await answer.send({
        id: 'canary-upstream-id',
        model: 'canary-upstream-model',
        choices: [{ index: 0, delta: { content: 'canary-output' }, finish_reason: 'stop' }],
      });
      answer.done();
    });
    await using service = await startService({ settings: modelAt(upstream), env: tracedBy(receiver) });
    const secrets = {
      instructions: 'canary-instructions',
      metadata: { 'canary-name': 'canary-value' },
      user: 'canary-user',
      safety_identifier: 'canary-safety',
      prompt_cache_key: 'canary-cache',
      tools: [{ type: 'function', name: 'canary_tool', parameters: { type: 'object' } }],
    };
    const headers = {
      tracestate: 'canary=state',
      baggage: 'canary=baggage',
      'x-request-id': 'canary-request',
    };

    const whole = await post(service, { ...secrets, input: 'canary-input' }, headers);
    const streamed = await post(service, { ...secrets, input: 'canary-input', stream: true }, headers);
    expect((await whole.text()) + (await streamed.text())).toContain('canary-output');
    await (await post(service, { ...secrets, input: 'refuse canary-input' }, headers)).text();
    await (await post(service, { model: 'canary-model' }, headers)).text();
    const anybody = await fetch(`${service.apiUrls[0]}/v1/models?canary=query`);
    expect(anybody.status).toBe(401);
    await (
      await fetch(`${service.apiUrls[0]}/v1/responses`, { headers: { authorization: 'Bearer canary-key' } })
    ).text();

    await receiver.named(requestName, 4);
    await receiver.named(callName, 3);
    await receiver.named(attemptName, 3);
    await service.stop();
    const received = receiver.texts.join('\n');
    expect(received).not.toMatch(/canary/i);
    expect(received).not.toContain(service.key);
    await upstream.close();
  });

  it('cost nothing but themselves when their receiver is silent or refuses them', async ({ expect }) => {
    await using receiver = await startFakeOtlpReceiver();
    const upstream = await startScriptedUpstream();
    await using service = await startService({
      settings: { ...modelAt(upstream.fake), drainTimeoutMs: 10_000 },
      env: tracedBy(receiver, { OTEL_BSP_MAX_QUEUE_SIZE: '8', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4' }),
    });
    receiver.answerWith(503);
    expect((await post(service, {})).status).toBe(200);
    const [api = expect.unreachable()] = service.apis;
    const line = await api.logged('traces dropped');
    expect(line).toMatchObject({ err: { message: 'The receiver of traces answered 503' } });

    receiver.answerWith('nothing');
    for (let count = 0; count < 20; count += 1) expect((await post(service, {})).status).toBe(200);
    // Both ends by themselves, with exit code 0, long before an export would be given up.
    const since = performance.now();
    await service.stop();
    expect(performance.now() - since).toBeLessThan(9_000);
    expect(api.logLines().filter(({ msg }) => msg === 'traces dropped').length).toBeLessThan(3);
    await upstream.close();
  });

  it('store nothing while they are off, and load what writes them only while they are on', async ({
    expect,
  }) => {
    const loaded = join(tmpdir(), `sluice-loaded-${randomUUID()}`);
    const hook = `
      import { registerHooks } from 'node:module';
      import { appendFileSync } from 'node:fs';
      registerHooks({ load(url, context, next) {
        if (/sluice\\/dist\\/[^/]+\\.js$/.test(url)) appendFileSync(${JSON.stringify(loaded)}, url + '\\n');
        return next(url, context);
      } });`;
    const watched = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` };
    const upstream = await startScriptedUpstream();
    const contentsWith = async (env: Record<string, string>) => {
      await using service = await startService({
        settings: modelAt(upstream.fake),
        env: { ...env, ...watched },
      });
      const response = await post(service, {}, { traceparent: traceparentOf() });
      expect(response.status).toBe(200);
      return [...(await storeContents(service.redis)).values()].join('\n');
    };
    try {
      expect(await contentsWith({})).not.toContain('traceparent');
      expect(upstream.fake.requests[0]?.headers['traceparent']).toBeUndefined();
      const whileOff = [...new Set((await readFile(loaded, 'utf8')).trim().split('\n'))];
      // A module of a bundle says what it was made of, but for the bundler's own.
      const ours = whileOff.filter((url) => !url.includes('rolldown-runtime'));
      const sources = await Promise.all(ours.map((url) => readFile(new URL(`${url}.map`), 'utf8')));
      expect(sources.join('\n')).toMatch(/otlp-exporter/);
      expect([...whileOff, ...sources].join('\n')).not.toMatch(
        /otlp-body|opentelemetry\/(sdk|otlp|resources|core)/,
      );

      await using receiver = await startFakeOtlpReceiver();
      expect(await contentsWith(tracedBy(receiver))).toContain('traceparent');
      expect(await readFile(loaded, 'utf8')).toMatch(/otlp-body/);
    } finally {
      await rm(loaded, { force: true });
      await upstream.close();
    }
  });
});
