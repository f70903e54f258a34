import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  forAllTests,
  eventually,
  type FakeOtlpReceiver,
  type FakeUpstream,
  type ReceivedSpan,
  startFakeOtlpReceiver,
  startFakeUpstream,
} from '@sluice/testing';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { afterAll, describe, expect, it } from 'vitest';
import { startScriptedUpstream } from './scripted-upstream.ts';
import { type Service, type SettingsFile, startService, testService } from './service.ts';
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

/** Settings with a model at each of these upstreams, by the name of the model here and there. */
function modelsAt(upstreams: Record<string, { at: FakeUpstream; there: string }>): SettingsFile {
  const all = Object.entries(upstreams);
  return {
    providers: all.map(([id, { at }]) => ({
      id: `at-${id}`,
      type: 'openai-chat',
      baseUrl: at.baseUrl,
      apiKey: 'canary-upstream-key',
    })),
    models: all.map(([id, { there }]) => ({ id, routes: [{ provider: `at-${id}`, model: there }] })),
  };
}

/** Variables that make a process write down which of the files of the command it loads. */
function watched(file: string): Record<string, string> {
  const hook = `
    import { registerHooks } from 'node:module';
    import { appendFileSync } from 'node:fs';
    registerHooks({ load(url, context, next) {
      if (/sluice\\/dist\\/[^/]+\\.js$/.test(url)) appendFileSync(${JSON.stringify(file)}, url + '\\n');
      return next(url, context);
    } });`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` };
}

const callers = {
  sampled: { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' },
  other: { traceId: 'c0ffee3577b34da6a3ce929d0e0e4736', spanId: '11f067aa0ba902b7' },
};
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

async function idOf(response: Response): Promise<string> {
  expect(response.status).toBe(200);
  return ((await response.json()) as { id: string }).id;
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

// One service for all: what the tests look at are the spans of their own responses. The last one stops it.
describe('traces', () => {
  const loaded = join(tmpdir(), `sluice-loaded-${randomUUID()}`);

  const receiver = forAllTests(startFakeOtlpReceiver);
  const upstream = forAllTests(startScriptedUpstream);
  /** An upstream that fails a call, and says what no span may. */
  const unkind = forAllTests(startFakeUpstream);
  const service = testService(() => ({
    settings: {
      ...modelsAt({
        traced: { at: upstream.fake, there: 'big-model' },
        unkind: { at: unkind, there: 'unkind-model' },
      }),
      recovery: { lockMs: 3_000, stalledMs: 500 },
    },
    env: tracedBy(receiver, watched(loaded)),
  }));
  afterAll(() => rm(loaded, { force: true }));

  /** Waits until the spans of this name that tell of a response are as many as that, and returns them. */
  const spansOf = (id: string, name: string, count = 1) =>
    eventually(() => {
      const found = receiver.spans.filter(
        (span) => span.name === name && span.attributes['sluice.response.id'] === id,
      );
      return found.length >= count && found;
    });

  it('show a request, its wait, its attempt and the call of the model as one trace of its caller', async () => {
    const { traceId, spanId } = callers.sampled;
    const id = await idOf(await post(service, {}, { traceparent: `00-${traceId}-${spanId}-01` }));

    const request = only(await spansOf(id, requestName));
    const wait = only(await spansOf(id, waitName));
    const attempt = only(await spansOf(id, attemptName));
    const call = only(await spansOf(id, callName));
    for (const span of [request, wait, attempt, call]) {
      expect(span).toMatchObject({ traceId, status: 0, links: [] });
    }
    expect(request.parentSpanId).toBe(spanId);
    expect([wait.parentSpanId, attempt.parentSpanId]).toEqual([request.spanId, request.spanId]);
    expect(call.parentSpanId).toBe(attempt.spanId);
    expect([request.kind, wait.kind, attempt.kind, call.kind]).toEqual([2, 1, 1, 3]);
    expect([request.service, attempt.service]).toEqual(['sluice-api', 'sluice-worker']);
    expect(wait.endedAt).toBe(attempt.startedAt);
    expect(liesIn(call, attempt)).toBe(true);
    expect(call.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'at-traced',
      'gen_ai.request.model': 'big-model',
      'gen_ai.response.finish_reasons': ['stop'],
    });
    expect(upstream.fake.requests.at(-1)?.headers['traceparent']).toBe(`00-${traceId}-${call.spanId}-01`);
  });

  it('show a stream, whose reader comes back in a trace of its own that is linked', async () => {
    const streamed = await post(service, { stream: true, background: true });
    const events = await streamed.text();
    const [, id = ''] = /"response":\{"id":"([^"]+)"/.exec(events) ?? [];
    const resumed = await fetch(`${service.apiUrls[0]}/v1/responses/${id}?stream=true&starting_after=1`, {
      headers: { authorization: `Bearer ${service.key}` },
    });
    expect(await resumed.text()).toContain('response.completed');

    const request = only(await spansOf(id, requestName));
    const call = only(await spansOf(id, callName));
    const reader = only(await spansOf(id, 'GET /v1/responses/:id'));
    expect(request.parentSpanId).toBe('');
    expect(call.traceId).toBe(request.traceId);
    expect(call.attributes['gen_ai.response.time_to_first_chunk']).toBeTypeOf('number');
    expect(reader.traceId).not.toBe(request.traceId);
    expect(reader.links).toEqual([{ traceId: request.traceId, spanId: request.spanId }]);
  });

  it('show each turn of a WebSocket as a trace', async () => {
    const [url = ''] = service.apiUrls;
    const socket = new ResponsesWS(new OpenAI({ baseURL: `${url}/v1`, apiKey: service.key }), {
      reconnect: null,
    });
    const ids: string[] = [];
    for (const input of ['One.', 'Two.']) {
      const completed = new Promise<string>((resolve) =>
        socket.on('event', (event) => {
          if (event.type === 'response.completed') resolve(event.response.id);
        }),
      );
      socket.send({ type: 'response.create', model: 'traced', input });
      ids.push(await completed);
    }

    const traceIds = new Set<string>();
    for (const id of ids) {
      const turn = only(await spansOf(id, 'WEBSOCKET response.create'));
      expect(only(await spansOf(id, callName)).traceId).toBe(turn.traceId);
      traceIds.add(turn.traceId);
    }
    expect(traceIds.size).toBe(2);
    socket.close();
  });

  it('show a failed attempt and its retry side by side, by codes alone', async () => {
    unkind.onChatCompletions(async ({ json, stream }) => {
      if (unkind.requests.length === 1) return json(500, { error: { message: 'canary-of-the-upstream' } });
      const answer = stream();
      await answer.send({ choices: [{ index: 0, delta: { content: '.' }, finish_reason: 'stop' }] });
      answer.done();
    });
    const id = await idOf(await post(service, { model: 'unkind' }));

    const request = only(await spansOf(id, requestName));
    const attempts = (await spansOf(id, attemptName, 2)).toSorted((a, b) => a.startedAt - b.startedAt);
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
    const calls = await spansOf(id, 'chat unkind-model', 2);
    const refused = calls.find(({ parentSpanId }) => parentSpanId === failed?.spanId);
    expect(refused?.attributes).toMatchObject({
      'error.type': 'upstream_error',
      'http.response.status_code': 500,
    });
    expect(only(await spansOf(id, waitName)).parentSpanId).toBe(request.spanId);
    expect(receiver.texts.join('\n')).not.toContain('canary');
  });

  it('begin anew where a caller sends a broken traceparent, and have no spans where it asks for none', async () => {
    const { traceId, spanId } = callers.other;
    const unsampled = await idOf(await post(service, {}, { traceparent: `00-${traceId}-${spanId}-00` }));
    const sent = upstream.fake.requests.at(-1)?.headers['traceparent'];
    expect(sent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
    const broken = [
      `00-${traceId}-${spanId}-01-more`,
      `00-${'0'.repeat(32)}-${spanId}-01`,
      `00-${traceId.toUpperCase()}-${spanId}-01`,
      `00-${traceId.slice(1)}'-${spanId}-01`,
      `00-${'a'.repeat(5_000)}-${spanId}-01`,
      'nonsense',
    ];
    for (const traceparent of broken) {
      const id = await idOf(await post(service, {}, { traceparent }));
      const request = only(await spansOf(id, requestName));
      expect(request.traceId).not.toBe(traceId);
      expect(request.parentSpanId).toBe('');
      await spansOf(id, attemptName);
    }
    // Earlier spans would have arrived by now.
    expect(receiver.spans.filter((span) => span.traceId === traceId)).toEqual([]);
    expect(receiver.texts.join('\n')).not.toContain(unsampled);
  });

  it('store nothing while they are off, and load what writes them only while they are on', async () => {
    const loadedWhileOff = `${loaded}-off`;
    const contentsOf = async ({ redis }: Service) => [...(await storeContents(redis)).values()].join('\n');
    try {
      await using off = await startService({
        settings: modelsAt({ traced: { at: upstream.fake, there: 'big-model' } }),
        env: watched(loadedWhileOff),
      });
      const { traceId, spanId } = callers.other;
      await idOf(await post(off, {}, { traceparent: `00-${traceId}-${spanId}-01` }));
      expect(await contentsOf(off)).not.toContain('traceparent');
      expect(upstream.fake.requests.at(-1)?.headers['traceparent']).toBeUndefined();
      const whileOff = [...new Set((await readFile(loadedWhileOff, 'utf8')).trim().split('\n'))];
      // A module of a bundle says what it was made of, but for the bundler's own.
      const ours = whileOff.filter((url) => !url.includes('rolldown-runtime'));
      const sources = await Promise.all(ours.map((url) => readFile(new URL(`${url}.map`), 'utf8')));
      expect(sources.join('\n')).toMatch(/otlp-exporter/);
      expect([...whileOff, ...sources].join('\n')).not.toMatch(
        /otlp-body|opentelemetry\/(sdk|otlp|resources|core)/,
      );
    } finally {
      await rm(loadedWhileOff, { force: true });
    }
    await idOf(await post(service, {}));
    expect(await contentsOf(service)).toContain('traceparent');
    expect(await readFile(loaded, 'utf8')).toMatch(/otlp-body/);
  });

  it('cost nothing but themselves when their receiver is silent or refuses them', async () => {
    await using elsewhere = await startFakeOtlpReceiver();
    await using withoutReceiver = await startService({
      settings: {
        ...modelsAt({ traced: { at: upstream.fake, there: 'big-model' } }),
        // Shorter than an export may take: a process that waited for one would not end cleanly.
        drainTimeoutMs: 8_000,
      },
      env: tracedBy(elsewhere, { OTEL_BSP_MAX_QUEUE_SIZE: '8', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4' }),
    });
    elsewhere.answerWith(503);
    await idOf(await post(withoutReceiver, {}));
    const [api = expect.unreachable()] = withoutReceiver.apis;
    const line = await api.logged('traces dropped');
    expect(line).toMatchObject({ err: { message: 'The receiver of traces answered 503' } });

    elsewhere.answerWith('nothing');
    for (let count = 0; count < 20; count += 1) await idOf(await post(withoutReceiver, {}));
    await withoutReceiver.stop();
    expect(api.logLines().filter(({ msg }) => msg === 'traces dropped').length).toBeLessThan(3);
  });

  it('link the attempt after a crash with its response, and join it not', async () => {
    const expected = upstream.expect('nothing');
    const pending = post(service, { input: expected.input });
    await expected.arrived.wait();
    await service.addWorker();

    await service.workers[0]?.kill();
    expected.finish();

    const id = await idOf(await pending);
    const request = only(await spansOf(id, requestName));
    const attempt = only(await spansOf(id, attemptName));
    const call = only(await spansOf(id, callName));
    expect(attempt.traceId).not.toBe(request.traceId);
    expect(attempt.parentSpanId).toBe('');
    expect(attempt.links).toEqual([{ traceId: request.traceId, spanId: request.spanId }]);
    expect([call.traceId, call.parentSpanId]).toEqual([attempt.traceId, attempt.spanId]);
    expect(upstream.fake.requests.at(-1)?.headers['traceparent']).toContain(attempt.traceId);
  });

  it('hold nothing of prompts, answers, keys or metadata', async () => {
    unkind.onChatCompletions(async ({ request, json, stream }) => {
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
    const secrets = {
      model: 'unkind',
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
    const countOf = (name: string) => receiver.spans.filter((span) => span.name === name).length;
    const [requests, attempts, calls] = [requestName, attemptName, 'chat unkind-model'].map(countOf);

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

    await service.stop();
    expect(countOf(requestName)).toBe(Number(requests) + 4);
    expect(countOf(attemptName)).toBe(Number(attempts) + 3);
    expect(countOf('chat unkind-model')).toBe(Number(calls) + 3);
    const received = receiver.texts.join('\n');
    expect(received).not.toMatch(/canary/i);
    expect(received).not.toContain(service.key);
  });
});
