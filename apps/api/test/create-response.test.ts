import { checkEventGrammar, checkResponse, eventually, readSse, sseFrames } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';

const api = eachTestApi();

const mounts = [
  ['/v1', 'response'],
  ['/api/v1', 'create_response'],
] as const;

describe('a synchronous call', () => {
  it.each(mounts)('at %s answers the whole response, as a %s', async (mount, object) => {
    const { status, headers, json } = await api.create({ model, input: 'Hi' }, { mount });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    const body = json();
    expect(checkResponse(body)).toEqual([]);
    expect(body).toMatchObject({ object, status: 'completed', output_text: 'Hello', model });
  });

  it('is answered with what was asked for', async () => {
    const asked = { temperature: 0, max_output_tokens: 16, metadata: { a: 'b' }, instructions: 'Be brief.' };
    const { json } = await api.create({ model, input: 'Hi', ...asked });
    expect(json()).toMatchObject(asked);
  });

  it('takes null for absent, and ignores members it does not know', async () => {
    const { status } = await api.create({
      model,
      input: 'Hi',
      stream: null,
      temperature: null,
      tools: null,
      client_metadata: { a: 1 },
    });
    expect(status).toBe(200);
  });

  it('does not look at Accept', async () => {
    const { status } = await api.create({ model, input: 'Hi' }, { headers: { accept: 'text/html' } });
    expect(status).toBe(200);
  });

  it.each([
    ['upstream_error', 502],
    ['model_error', 500],
    ['invalid_model_output', 500],
    ['server_error', 500],
    ['timeout', 504],
  ] as const)('of a response that failed with %s answers %i, not worth a retry', async (code, status) => {
    api.worker.onRun((run) => run.fail(code));
    const answer = await api.create({ model, input: 'Hi' });
    expect(answer.status).toBe(status);
    expect(answer.headers['x-should-retry']).toBe('false');
    expect(answer.json()).toMatchObject({ error: { code, message: expect.any(String), param: null } });
  });

  it.each(['invalid_prompt', 'context_length_exceeded'] as const)(
    'of a response that failed with %s answers 400',
    async (code) => {
      api.worker.onRun((run) => run.fail(code));
      const answer = await api.create({ model, input: 'Hi' });
      expect(answer.status).toBe(400);
      expect(answer.json()).toMatchObject({ error: { code, type: 'invalid_request_error' } });
    },
  );

  it('of a response whose upstream was overloaded answers 503 with a time to come back', async () => {
    api.worker.onRun((run) => run.fail('server_is_overloaded'));
    const answer = await api.create({ model, input: 'Hi' });
    expect(answer.status).toBe(503);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(Number(answer.headers['retry-after-ms'])).toBeGreaterThanOrEqual(1);
  });

  it('leaves a failed response readable', async () => {
    api.worker.onRun((run) => run.fail('model_error'));
    await api.create({ model, input: 'Hi' });
    const id = api.worker.runs[0]?.record.id;
    expect((await api.get(`/v1/responses/${id}`)).json()).toMatchObject({
      status: 'failed',
      error: { code: 'model_error', type: 'model_error', param: null },
    });
  });
});

describe('a synchronous call that takes too long', () => {
  it('answers 504 and cancels the response', async () => {
    await api.start({ syncWaitMs: 100 });
    api.worker.onRun((run) => run.hang());
    const answer = await api.create({ model, input: 'Hi' });
    expect(answer.status).toBe(504);
    expect(answer.headers['x-should-retry']).toBe('false');
    expect(answer.json()).toMatchObject({ error: { code: 'timeout', type: 'server_error' } });
    // On a busy machine no worker may have taken it by then.
    const id = String(answer.headers['x-sluice-response-id']);
    await eventually(async () => (await api.get(`/v1/responses/${id}`)).json()['status'] === 'cancelled');
  });

  it('while nobody ran it cancels it before anybody does', async () => {
    await api.start({ syncWaitMs: 100, withoutWorker: true });
    expect((await api.create({ model, input: 'Hi' })).status).toBe(504);
    expect(await api.queue.counts(model)).toMatchObject({ waiting: 0, active: 0 });
  });
});

describe('a stream', () => {
  it('closes its connection at the end, if the client asked for that', async () => {
    const response = await api.stream({ model, input: 'Hi' }, { headers: { connection: 'close' } });
    expect(response.headers.get('connection')).toBe('close');
    await response.text();
  });

  it.each(mounts)('at %s obeys the grammar, and carries the response as a %s', async (mount, object) => {
    const response = await api.stream({ model, input: 'Hi' }, { mount });
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      connection: 'keep-alive',
      'x-request-id': expect.stringMatching(/^req_/),
    });
    const text = await response.text();
    const { events, done, problems } = await readSse(text);
    expect(problems).toEqual([]);
    expect(done).toBe(true);
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(checkEventGrammar(events)).toEqual([]);
    expect(events[0]).toMatchObject({ response: { object, status: 'queued' } });
    expect(events.at(-1)).toMatchObject({ response: { object, status: 'completed', output_text: 'Hello' } });
  });

  it('says created before anybody runs the response', async () => {
    const { goOn } = api.worker.hold();
    const response = await api.stream({ model, input: 'Hi' });
    const frames = sseFrames(bodyOf(response));
    expect((await frames.next()).value).toMatchObject({ event: 'response.created' });
    expect((await frames.next()).value).toMatchObject({ event: 'response.queued' });
    expect((await frames.next()).value).toMatchObject({ event: 'response.in_progress' });
    goOn.open();
    const rest = [];
    for await (const { event, data } of frames) rest.push(event || data);
    expect(rest).toEqual(['response.completed', '[DONE]']);
  });

  it('that fails ends with an error event and response.failed', async () => {
    api.worker.onRun(async (run) => {
      run.say('Half');
      await run.fail('upstream_error');
    });
    const response = await api.stream({ model, input: 'Hi' });
    expect(response.status).toBe(200);
    const { events, done } = await readSse(await response.text());
    expect(checkEventGrammar(events)).toEqual([]);
    expect(events.slice(-2)).toMatchObject([
      { type: 'error', code: 'upstream_error', error: { type: 'server_error', code: 'upstream_error' } },
      { type: 'response.failed', response: { error: { code: 'upstream_error' } } },
    ]);
    expect(done).toBe(true);
  });

  it('carries any text in one data line', async () => {
    const text = 'a\u2028b\u2029c\r\nd\ne\rf\u0000g\u{1F600}h"i\\j data: [DONE]\n\nevent: x';
    api.worker.answer(text);
    const answer = await (await api.stream({ model, input: 'Hi' })).text();
    const { events, problems } = await readSse(answer);
    expect(problems).toEqual([]);
    expect(
      events.find((event) => (event as { type: string }).type === 'response.output_text.delta'),
    ).toMatchObject({ delta: text });
    // Every line a reader could see belongs to a frame, also for one that takes CR or U+2028 for an end of line.
    const lines = answer.split(/\r\n|\n|\r/);
    expect(lines.every((line) => line === '' || /^(event|data): /.test(line))).toBe(true);
    expect(answer).not.toMatch(/^(id|retry):/m);
  });

  it('pads deltas to common sizes only when asked to', async () => {
    api.worker.answer('a', 'bc', 'def', 'ghij'.repeat(40));
    const plain = await readSse(await (await api.stream({ model, input: 'Hi' })).text());
    expect(plain.data.join('')).not.toContain('obfuscation');
    const wanted = { model, input: 'Hi', stream_options: { include_obfuscation: true } };
    const padded = await readSse(await (await api.stream(wanted)).text());
    expect(padded.problems).toEqual([]);
    expect(checkEventGrammar(padded.events)).toEqual([]);
    const deltas = padded.data.filter((data) => data.includes('.delta"'));
    expect(deltas).toHaveLength(4);
    for (const data of deltas) {
      expect(data).toMatch(/"obfuscation":"[a-z]+"}$/);
      expect(data.length % 64).toBe(0);
    }
  });

  it('names raw reasoning after the specification when the request carries its version', async () => {
    api.worker.onRun(async (run) => {
      run.think('hm');
      await run.complete();
    });
    const plain = await readSse(await (await api.stream({ model, input: 'Hi' })).text());
    const headers = { 'openresponses-version': '2026-04-24' };
    const named = await readSse(await (await api.stream({ model, input: 'Hi' }, { headers })).text());
    expect(checkEventGrammar(plain.events)).toEqual([]);
    expect(checkEventGrammar(named.events)).toEqual([]);
    expect(named.problems).toEqual([]);
    expect(plain.data.join('')).toContain('"response.reasoning_text.delta"');
    expect(named.data.join('')).toContain('"response.reasoning.delta"');
    expect(named.data.join('')).not.toContain('response.reasoning_text.');
  });

  it('that cannot begin is refused in plain JSON', async () => {
    const answer = await api.create({ model: 'nope', input: 'Hi', stream: true });
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  });
});

describe('a response read by its id', () => {
  it('is what the caller was answered, byte for byte', async () => {
    const created = await api.create({ model, input: 'Hi' });
    const read = await api.get(`/v1/responses/${created.json()['id']}`);
    expect(read.status).toBe(200);
    expect(read.text).toBe(created.text);
  });

  it('is the same at both mounts but for the word in object', async () => {
    const { id } = (await api.create({ model, input: 'Hi' })).json();
    const standard = (await api.get(`/v1/responses/${id}`)).json();
    const seed = (await api.get(`/api/v1/responses/${id}`)).json();
    expect(seed).toEqual({ ...standard, object: 'create_response' });
  });

  it('of another tenant is not there, exactly like one that never was', async () => {
    const { id } = (await api.create({ model, input: 'Hi' })).json();
    const unknown = `create-response_${'a'.repeat(32)}`;
    for (const verb of ['GET', 'DELETE', 'POST'] as const) {
      const path = (of: unknown) => `/v1/responses/${of}${verb === 'POST' ? '/cancel' : ''}`;
      const ask = (of: unknown) =>
        api.app.inject({
          method: verb,
          url: path(of),
          headers: { authorization: `Bearer ${apiKeys.second}` },
        });
      const [foreign, missing, malformed] = [await ask(id), await ask(unknown), await ask('x')];
      expect(foreign.statusCode).toBe(404);
      expect(foreign.json()).toMatchObject({ error: { code: 'not_found', type: 'not_found', param: 'id' } });
      for (const other of [missing, malformed]) {
        expect(other.statusCode).toBe(404);
        expect(other.body).toBe(foreign.body);
        expect(Object.keys(other.headers)).toEqual(Object.keys(foreign.headers));
      }
    }
    expect((await api.get(`/v1/responses/${id}`)).status).toBe(200);
  });

  it('that was not to be stored is gone once it was delivered', async () => {
    const { id } = (await api.create({ model, input: 'Hi', store: false })).json();
    expect((await api.get(`/v1/responses/${id}`)).status).toBe(404);
  });

  it('that was not to be stored waits for its caller when it ran in the background, and for nobody else', async () => {
    const body = { model, input: 'Hi', store: false, background: true };
    const idempotencyKey = { headers: { 'idempotency-key': 'again' } };
    const { id } = (await api.create(body, idempotencyKey)).json() as { id: string };
    const path = `/v1/responses/${id}`;
    const ended = await eventually(async () => {
      const { json } = await api.get(path);
      return json()['status'] === 'completed' && json();
    });
    expect(ended).toMatchObject({ id, store: false, background: true });
    // Once more: no reader takes it away.
    expect((await api.get(path)).json()).toEqual(ended);
    const stream = await api.fetch(`${path}?stream=true`);
    expect(await stream.text()).toContain('response.completed');
    expect((await api.get(`${path}/input_items`)).json()).toMatchObject({ data: [{ role: 'user' }] });
    const again = await api.create(body, idempotencyKey);
    expect(again.json()).toEqual(ended);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect((await api.get('/v1/responses')).text).not.toContain(id);
    const next = await api.create({ model, input: 'And?', previous_response_id: id });
    expect(next.json()).toMatchObject({ error: { code: 'previous_response_not_found' } });
    expect((await api.get(path, apiKeys.second)).status).toBe(404);
  });

  it.each([
    '%00',
    '%0d%0aset-cookie:a',
    '%2e%2e',
    '..%2f..%2fetc',
    'create-response_',
    '%F0%9F%98%80',
    'a'.repeat(600),
  ])('under the id %s is refused', async (id) => {
    const answer = await api.get(`/v1/responses/${id}`);
    expect([400, 404, 414]).toContain(answer.status);
    expect(answer.headers['set-cookie']).toBeUndefined();
    expect(answer.json()).toMatchObject({ error: { code: expect.any(String), type: expect.any(String) } });
    expect(answer.text).not.toContain('etc');
  });
});

describe('models', () => {
  it('are those the key may use', async () => {
    const all = (await api.get('/v1/models')).json();
    expect(all).toMatchObject({ object: 'list' });
    expect((all['data'] as { id: string }[]).map(({ id }) => id)).toEqual([
      model,
      'other',
      'vendor/model',
      'counted',
      'small',
    ]);
    const few = (await api.get('/v1/models', apiKeys.narrow)).json();
    expect(few['data']).toEqual([{ id: 'other', object: 'model', created: 1_000, owned_by: 'sluice' }]);
  });

  it('are found by id, slashes and all', async () => {
    expect((await api.get('/v1/models/vendor/model')).json()).toMatchObject({ id: 'vendor/model' });
    expect((await api.get('/v1/models/nope')).status).toBe(404);
    expect((await api.get(`/v1/models/${model}`, apiKeys.narrow)).status).toBe(404);
  });
});

describe('every answer', () => {
  it('carries its request id and is not to be stored or sniffed', async () => {
    const answers = await Promise.all([
      api.create({ model, input: 'Hi' }),
      api.create('{'),
      api.create({ model, input: 'Hi' }, { key: 'sk-wrong' }),
      api.get('/v1/models'),
      api.get('/nowhere'),
      api.get('/v1/responses/%zz'),
      api.get('/healthz'),
      api.get('/readyz'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 401, 200, 404, 400, 200, 200]);
    for (const { headers } of answers) {
      expect(headers).toMatchObject({
        'x-request-id': expect.stringMatching(/^req_[A-Za-z0-9]{24,}$/),
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'openai-processing-ms': expect.stringMatching(/^\d+$/),
      });
      expect(headers['server']).toBeUndefined();
    }
  });

  it('takes over the request id of the client when that is harmless, and only then', async () => {
    const ask = (id: string) => api.create({ model, input: 'Hi' }, { headers: { 'x-request-id': id } });
    expect((await ask('abc-123_x')).headers['x-request-id']).toBe('abc-123_x');
    for (const bad of ['a b', 'a'.repeat(65), 'ä', '']) {
      expect((await ask(bad)).headers['x-request-id']).toMatch(/^req_/);
    }
  });

  it("gives back the client's own request id", async () => {
    const { headers } = await api.create(
      { model, input: 'Hi' },
      { headers: { 'x-client-request-id': 'thread 7' } },
    );
    expect(headers['x-client-request-id']).toBe('thread 7');
  });
});

function bodyOf(response: Response): ReadableStream<Uint8Array> {
  if (!response.body) throw new Error('no body');
  return response.body;
}
