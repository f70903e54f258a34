import { sseFrames } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';

const api = eachTestApi();

const path = '/messages';
const messages = [{ role: 'user', content: 'Hi' }];
const body = { model, max_tokens: 100, messages };
const create = (members: object = {}, options: object = {}) =>
  api.create({ ...body, ...members }, { path, ...options });
const thinking = { type: 'adaptive' };

/** The data of each frame of a stream, each with the name of its event. */
async function framesOf(response: Response): Promise<Record<string, unknown>[]> {
  const frames: Record<string, unknown>[] = [];
  if (!response.body) throw new Error('There is no stream');
  for await (const { event, data } of sseFrames(response.body)) {
    const frame = JSON.parse(data) as Record<string, unknown>;
    expect(event).toBe(frame['type']);
    frames.push(frame);
  }
  return frames;
}

const stream = async (members: object = {}, options: object = {}) =>
  framesOf(await api.stream({ ...body, ...members }, { path, ...options }));

describe('a message', () => {
  it.each(['/v1', '/api/v1'] as const)('at %s is answered whole', async (mount) => {
    const { status, headers, json } = await create({}, { mount });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(headers['request-id']).toBe(headers['x-request-id']);
    expect(json()).toMatchObject({
      id: `msg_${String(headers['x-sluice-response-id']).split('_')[1]}`,
      type: 'message',
      role: 'assistant',
      model,
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 3, output_tokens: 2 },
    });
  });

  it('is answered as a stream', async () => {
    api.worker.onRun(async (run) => {
      run.think('Hm.');
      run.say('Hel');
      run.say('lo');
      await run.complete();
    });
    const answer = await api.stream({ ...body, thinking }, { path });
    expect(answer.headers.get('request-id')).toBe(answer.headers.get('x-request-id'));
    expect(await framesOf(answer)).toMatchObject([
      { type: 'message_start', message: { role: 'assistant', content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hel' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ]);
  });

  it('reaches the model as a response does', async () => {
    await create({
      system: 'Be brief.',
      temperature: 0,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
    });
    expect(api.worker.runs[0]?.record.request).toMatchObject({
      input: [
        { type: 'message', role: 'system', content: 'Be brief.' },
        { type: 'message', role: 'user', content: 'Hi' },
      ],
      max_output_tokens: 100,
      temperature: 0,
      stop: ['END'],
      user: 'u',
    });
  });

  it('says before which stop sequence it has ended, whole, streamed and told again', async () => {
    api.worker.onRun(async (run) => {
      run.say('Hel');
      await run.complete('lo');
    });
    const expected = { stop_reason: 'stop_sequence', stop_sequence: 'lo' };
    const headers = { 'Idempotency-Key': 'stopped' };
    const first = await create({ stop_sequences: ['lo'] }, { headers });
    expect(first.json()).toMatchObject(expected);
    const again = await create({ stop_sequences: ['lo'] }, { headers });
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.json()).toEqual(first.json());
    for (const asked of [{ headers }, {}]) {
      const frames = await stream({ stop_sequences: ['lo'] }, asked);
      expect(frames.at(-2)).toMatchObject({ type: 'message_delta', delta: expected });
    }
    expect(api.worker.runs).toHaveLength(2);
    // The Responses API has no such member, as a body and in events.
    const kept = `/v1/responses/${String(first.headers['x-sluice-response-id'])}`;
    const stored = (await api.get(kept)).json();
    expect(stored).toMatchObject({ status: 'completed', output_text: 'Hel' });
    expect(stored).not.toHaveProperty('stop_sequence');
    const list = (await api.get('/v1/responses')).json();
    const events = await (await api.fetch(`${kept}?stream=true`)).text();
    expect(events).toContain('event: response.completed');
    expect(JSON.stringify([list, events])).not.toContain('stop_sequence');
  });

  it('has its marks for caches reach the worker, beside items that have none', async () => {
    const cache_control = { type: 'ephemeral', ttl: '1h' };
    const key = 'marks';
    const asked = { system: [{ type: 'text', text: 'Be brief.', cache_control }] };
    const { headers } = await create(asked, { headers: { 'Idempotency-Key': key } });
    const { cache_breakpoints: breakpoints } = api.worker.runs[0]?.record.request ?? {};
    expect(breakpoints).toEqual([{ at: 'input', index: 0, part: 0, ttl: '1h' }]);
    const id = String(headers['x-sluice-response-id']);
    const stored = await Promise.all([
      api.get(`/v1/responses/${id}`),
      api.get(`/v1/responses/${id}/input_items`),
    ]);
    for (const answer of stored) {
      expect(answer.status).toBe(200);
      expect(JSON.stringify(answer.json())).not.toMatch(/cache_(?:control|breakpoints)/);
    }
    // Marks change nothing of an answer, so that of the first try is that of the second.
    const again = await create(
      { system: [{ type: 'text', text: 'Be brief.' }] },
      { headers: { 'Idempotency-Key': key } },
    );
    expect(again.headers['x-sluice-response-id']).toBe(id);
  });

  it.each([
    ['system[0].cache_control.ttl', { type: 'ephemeral', ttl: '2h' }, 1],
    ['system[4].cache_control', { type: 'ephemeral' }, 5],
  ])('is refused for its mark at %s', async (param, cache_control, count) => {
    const system = Array.from({ length: count }, () => ({ type: 'text', text: 'Hm.', cache_control }));
    const { status, json } = await create({ system });
    expect(status).toBe(400);
    expect(json()).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', details: { error_code: 'invalid_value', param } },
    });
  });

  it('has thoughts that bring the model its reasoning back', async () => {
    api.worker.onRun(async (run) => {
      run.think('Let me think.');
      run.say('Hello');
      await run.complete();
    });
    const { content } = (await create({ thinking })).json() as { content: Record<string, unknown>[] };
    expect(content).toMatchObject([
      { type: 'thinking', thinking: 'Let me think.', signature: expect.stringMatching(/^[\w-]{50,}$/) },
      { type: 'text', text: 'Hello' },
    ]);
    const { content: hidden } = (await create({ thinking: { ...thinking, display: 'omitted' } })).json() as {
      content: Record<string, unknown>[];
    };
    expect(hidden[0]).toMatchObject({ type: 'thinking', thinking: '' });
    for (const turn of [content, hidden]) {
      await create({ messages: [...messages, { role: 'assistant', content: turn }, ...messages] });
      expect(api.worker.runs.at(-1)?.record.request.input.slice(1, 3)).toMatchObject([
        { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Let me think.' }] },
        { type: 'message', role: 'assistant' },
      ]);
    }
  });

  it('leaves nothing to be read, since nobody reads a message again', async () => {
    const id = String((await create()).headers['x-sluice-response-id']);
    expect((await api.get(`/v1/responses/${id}`)).status).toBe(404);
  });

  it('with a key runs once, and is answered in the mode that is asked for', async () => {
    const options = { headers: { 'idempotency-key': 'k' } };
    const [first, second] = await Promise.all([create({}, options), create({}, options)]);
    const third = await stream({}, options);
    expect(second.json()).toEqual(first.json());
    expect(third.at(-1)).toEqual({ type: 'message_stop' });
    expect(api.worker.runs).toHaveLength(1);
    expect((await create({ temperature: 1 }, options)).json()).toMatchObject({
      error: { type: 'invalid_request_error', details: { error_code: 'idempotency_mismatch' } },
    });
  });

  it('of any length arrives whole', async () => {
    const text = 'Long text, \u20ac "quoted" and so on. '.repeat(40_000);
    const long = JSON.stringify({ text });
    api.worker.onRun(async (run) => {
      run.say(text);
      run.call('write', long);
      await run.complete();
    });
    expect((await create()).json()).toMatchObject({
      content: [{ text }, { type: 'tool_use', name: 'write', input: { text } }],
      stop_reason: 'tool_use',
    });
    const frames = (await stream()) as { delta?: { text?: string; partial_json?: string } }[];
    expect(frames.map(({ delta }) => delta?.text ?? '').join('')).toBe(text);
    expect(frames.map(({ delta }) => delta?.partial_json ?? '').join('')).toBe(long);
  });

  it('has long inputs of tools as the model wrote them, whole and as a stream', async () => {
    const text = 'Long text, \u20ac "quoted" \\ and so on. \n'.repeat(20_000);
    const calls = [1, 2].map((at) => `{ "id": 1234567890123456789${at},  "text": ${JSON.stringify(text)} }`);
    const cut = `{"text": ${JSON.stringify(text)}`;
    api.worker.onRun(async (run) => {
      for (const [at, call] of [...calls, cut].entries()) run.call(`write-${at}`, call);
      await run.complete();
    });
    const whole = await create();
    for (const call of calls) expect(whole.text).toContain(`"input":${call}}`);
    expect(whole.headers['content-length']).toBe(String(Buffer.byteLength(whole.text)));
    expect((whole.json() as { content: object[] }).content[2]).toMatchObject({ input: { input: cut } });
    const frames = (await stream()) as { type: string; index?: number; delta?: { partial_json?: string } }[];
    const inputs = [...calls, cut].map((_, at) =>
      frames.map(({ index, delta }) => (index === at ? (delta?.partial_json ?? '') : '')).join(''),
    );
    expect(inputs).toEqual([...calls, cut]);
    expect(api.bodyBudget.held).toBe(0);
  });

  it('says where its caller stands with its limits', async () => {
    const { headers } = await create({}, { key: apiKeys.limited });
    expect(headers).toMatchObject({
      'anthropic-ratelimit-requests-limit': '2',
      'anthropic-ratelimit-requests-remaining': '1',
      'anthropic-ratelimit-requests-reset': expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
  });
});

describe('a message that is refused or fails', () => {
  it('names the member that its caller wrote', async () => {
    const image = { type: 'image', source: { type: 'url', url: 'ftp://a' } };
    const { status, headers, json } = await create({ messages: [{ role: 'user', content: [image] }] });
    expect(status).toBe(400);
    expect(headers['request-id']).toBe(headers['x-request-id']);
    expect(json()).toMatchObject({
      type: 'error',
      error: {
        type: 'invalid_request_error',
        details: { error_code: 'invalid_image_url', param: 'messages[0].content[0].source' },
      },
      request_id: headers['request-id'],
    });
  });

  it.each([false, true])('names a signature that is not ours, of a large body: %s', async (isLarge) => {
    const thought = { type: 'thinking', thinking: 'Hm.', signature: 'gAAAAABotheirs' };
    const text = { type: 'text', text: isLarge ? 'x'.repeat(300_000) : 'Hi' };
    const { json } = await create({
      messages: [...messages, { role: 'assistant', content: [text, thought] }, ...messages],
    });
    expect(json()).toMatchObject({
      error: {
        details: { error_code: 'invalid_encrypted_content', param: 'messages[1].content[1].signature' },
      },
    });
  });

  it.each([
    ['without a key', { key: 'sk-wrong' }, {}, 401, 'authentication_error', 'invalid_api_key'],
    [
      'with another type',
      { headers: { 'content-type': 'text/plain' } },
      {},
      415,
      'invalid_request_error',
      'unsupported_media_type',
    ],
    [
      'with a key that may not use the model',
      { key: apiKeys.narrow },
      {},
      403,
      'permission_error',
      'model_not_allowed',
    ],
    ['for a model that is none', {}, { model: 'nope' }, 400, 'invalid_request_error', 'model_not_found'],
    [
      'with a result of no call',
      {},
      { messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c' }] }] },
      400,
      'invalid_request_error',
      'tool_call_not_found',
    ],
  ])('%s', async (_what, options, members, status, type, code) => {
    const answer = await create(members, options);
    expect(answer.status).toBe(status);
    expect(answer.headers['request-id']).toBe(answer.headers['x-request-id']);
    expect(answer.json()).toMatchObject({ type: 'error', error: { type, details: { error_code: code } } });
    expect(answer.text).not.toContain('"input"');
  });

  it('over its limit says when to come back', async () => {
    const options = { key: apiKeys.limited };
    await create({}, options);
    await create({}, options);
    const { status, headers, json } = await create({}, options);
    expect(status).toBe(429);
    expect(json()).toMatchObject({ error: { type: 'rate_limit_error' } });
    expect(headers).toHaveProperty('retry-after');
    expect(headers['anthropic-ratelimit-requests-remaining']).toBe('0');
  });

  it('tells of a failure with its status, or in the stream', async () => {
    api.worker.onRun(async (run) => {
      run.say('Hel');
      await run.fail('context_length_exceeded');
    });
    const error = {
      type: 'invalid_request_error',
      details: { error_code: 'context_length_exceeded', param: 'messages' },
    };
    const answer = await create();
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({ error });
    expect((await stream()).at(-1)).toMatchObject({ type: 'error', error });
  });

  it('for want of room is one that its client tries again', async () => {
    api.worker.onRun((run) => run.fail('server_is_overloaded'));
    const answer = await create();
    expect(answer.status).toBe(503);
    expect(answer.json()).toMatchObject({ error: { type: 'overloaded_error' } });
  });
});

describe('the tokens of a message', () => {
  it('are counted without a run', async () => {
    const { max_tokens: _, ...counted } = body;
    const { status, headers, json } = await api.create(counted, { path: '/messages/count_tokens' });
    const other = await api.create({ model, input: messages }, { path: '/responses/input_tokens' });
    expect(status).toBe(200);
    expect(headers['request-id']).toBe(headers['x-request-id']);
    expect(json()).toEqual({ input_tokens: other.json()['input_tokens'] });
    expect(api.worker.runs).toHaveLength(0);
  });

  it('of nothing are an error in the form of the protocol', async () => {
    const { status, json } = await api.create({ model }, { path: '/messages/count_tokens' });
    expect(status).toBe(400);
    expect(json()).toMatchObject({ type: 'error', error: { details: { param: 'messages' } } });
  });
});
