import { sseFrames } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';

const api = eachTestApi();

const path = '/chat/completions';
const messages = [{ role: 'user', content: 'Hi' }];
const create = (members: object = {}, options: object = {}) =>
  api.create({ model, messages, ...members }, { path, ...options });

/** The data of each frame of a stream, as a client of OpenAI reads them. */
async function chunksOf(response: Response): Promise<unknown[]> {
  const chunks: unknown[] = [];
  if (!response.body) throw new Error('There is no stream');
  for await (const { event, data } of sseFrames(response.body)) {
    expect(event).toBe('');
    chunks.push(data === '[DONE]' ? data : JSON.parse(data));
  }
  return chunks;
}

const stream = async (members: object = {}, options: object = {}) =>
  chunksOf(await api.stream({ model, messages, ...members }, { path, ...options }));

describe('a chat completion', () => {
  it.each(['/v1', '/api/v1'] as const)('at %s is answered whole', async (mount) => {
    const { status, headers, json } = await create({}, { mount });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(headers['x-sluice-response-id']).toMatch(/^create-response_/);
    expect(json()).toMatchObject({
      id: `chatcmpl-${String(headers['x-sluice-response-id']).split('_')[1]}`,
      object: 'chat.completion',
      model,
      choices: [{ message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    });
  });

  it('is answered as chunks', async () => {
    api.worker.onRun(async (run) => {
      run.think('Hm.');
      run.say('Hel');
      run.say('lo');
      await run.complete();
    });
    const chunks = await stream({ stream_options: { include_usage: true } });
    const choice = (delta: object, finish_reason: string | null = null) => ({
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      usage: null,
    });
    expect(chunks).toMatchObject([
      choice({ role: 'assistant', reasoning_content: 'Hm.' }),
      choice({ content: 'Hel' }),
      choice({ content: 'lo' }),
      choice({}, 'stop'),
      { choices: [], usage: { total_tokens: 5 } },
      '[DONE]',
    ]);
  });

  it('reaches the model as a response does', async () => {
    const asked = { max_tokens: 5, temperature: 0, stop: ['END'], seed: 3 };
    await create({ messages: [{ role: 'system', content: 'Be brief.' }, ...messages], ...asked });
    expect(api.worker.runs[0]?.record.request).toMatchObject({
      input: [
        { type: 'message', role: 'system', content: 'Be brief.' },
        { type: 'message', role: 'user', content: 'Hi' },
      ],
      max_output_tokens: 5,
      temperature: 0,
      stop: ['END'],
      seed: 3,
    });
  });

  it('leaves a response that can be read, if it is stored', async () => {
    const { headers } = await create({ store: true });
    const id = String(headers['x-sluice-response-id']);
    expect((await api.get(`/v1/responses/${id}`)).json()).toMatchObject({ id, output_text: 'Hello' });
    const other = await create();
    expect((await api.get(`/v1/responses/${String(other.headers['x-sluice-response-id'])}`)).status).toBe(
      404,
    );
  });

  it('with a key runs once, and is answered in the mode that is asked for', async () => {
    const options = { headers: { 'idempotency-key': 'k' } };
    const [first, second] = await Promise.all([create({}, options), create({}, options)]);
    const third = await stream({}, options);
    expect(second.json()).toEqual(first.json());
    expect(third.at(-1)).toBe('[DONE]');
    expect(third).toMatchObject([{ choices: [{ delta: { content: 'Hello' } }] }, {}, '[DONE]']);
    expect(api.worker.runs).toHaveLength(1);
    const other = await create({ temperature: 1 }, options);
    expect(other).toMatchObject({ status: 422, headers: { 'x-should-retry': 'false' } });
    expect(other.json()).toMatchObject({ error: { code: 'idempotency_mismatch' } });
  });

  it('of any length arrives whole', async () => {
    const text = 'Long text, \u20ac "quoted" and so on. '.repeat(40_000);
    api.worker.answer(text);
    expect((await create()).json()).toMatchObject({ choices: [{ message: { content: text } }] });
    const chunks = (await stream()) as { choices?: { delta: { content?: string } }[] }[];
    expect(chunks.map(({ choices }) => choices?.[0]?.delta.content ?? '').join('')).toBe(text);
  });
});

describe('a chat completion that is refused or fails', () => {
  it('names the member that its caller wrote', async () => {
    const { status, json } = await create({
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'ftp://a' } }] }],
    });
    expect(status).toBe(400);
    expect(json()).toMatchObject({
      error: { code: 'invalid_image_url', param: 'messages[0].content[0].image_url.url' },
    });
  });

  it.each([
    ['without a key', { key: 'sk-wrong' }, {}, 401, 'invalid_api_key'],
    ['with another type', { headers: { 'content-type': 'text/plain' } }, {}, 415, 'unsupported_media_type'],
    ['with a key that may not use the model', { key: apiKeys.narrow }, {}, 403, 'model_not_allowed'],
    ['for a model that is none', {}, { model: 'nope' }, 400, 'model_not_found'],
    [
      'with an output of no call',
      {},
      { messages: [{ role: 'tool', tool_call_id: 'c', content: 'x' }] },
      400,
      'tool_call_not_found',
    ],
  ])('%s', async (_what, options, members, status, code) => {
    const answer = await create(members, options);
    expect(answer.status).toBe(status);
    expect(answer.json()).toMatchObject({ error: { code } });
    expect(answer.json()['error']).not.toMatchObject({ param: 'input' });
  });

  it('tells of a failure with its status, or in the stream', async () => {
    api.worker.onRun(async (run) => {
      run.say('Hel');
      await run.fail('context_length_exceeded');
    });
    const answer = await create();
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({ error: { code: 'context_length_exceeded', param: 'messages' } });
    expect((await stream()).at(-1)).toMatchObject({ error: { code: 'context_length_exceeded' } });
  });
});
