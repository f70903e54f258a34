import { eventually } from '@sluice/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';

const api = eachTestApi();

beforeEach(() => {
  api.worker.onRun(async (run) => {
    for (const [at] of run.record.request.input.entries()) run.embed(vectorOf(at));
    await run.complete();
  });
});

/** The vector of a text, by its place in the input. */
const vectorOf = (at: number, length = 3) =>
  Buffer.from(Float32Array.from({ length }, (_, place) => at + place / 4).buffer).toString('base64');

const path = '/embeddings';
const create = (members: object = {}, options: object = {}) =>
  api.create({ model, input: ['a', 'b'], ...members }, { path, ...options });

describe('embeddings', () => {
  it.each(['/v1', '/api/v1'] as const)('at %s are a list', async (mount) => {
    const { status, headers, json } = await create({}, { mount });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(headers['x-sluice-response-id']).toMatch(/_/);
    expect(json()).toEqual({
      object: 'list',
      data: [
        { object: 'embedding', index: 0, embedding: [0, 0.25, 0.5] },
        { object: 'embedding', index: 1, embedding: [1, 1.25, 1.5] },
      ],
      model,
      usage: { prompt_tokens: 3, total_tokens: 5 },
    });
  });

  it('are base64 for who asks for that', async () => {
    const { json } = await create({ encoding_format: 'base64' });
    expect(json()['data']).toMatchObject([{ embedding: vectorOf(0) }, { embedding: vectorOf(1) }]);
  });

  it('reach the model as a job of their own, without a log', async () => {
    await create({ input: [[1, 2], [3]], dimensions: 3, user: 'u' }, { headers: { 'idempotency-key': 'k' } });
    const [run] = api.worker.runs;
    expect(run?.record.request).toMatchObject({
      embedding: { form: 'tokens', dimensions: 3 },
      user: 'u',
      input: [{ content: '[1,2]' }, { content: '[3]' }],
    });
    const { id = '' } = run?.record ?? {};
    const kept = await Promise.all(
      [api.keys.record(id), api.keys.log(id)].map((key) => api.redis.client.exists(key)),
    );
    expect(kept).toEqual([1, 0]);
  });

  it.each([2, 400])('of any size arrive whole: %i texts', async (texts) => {
    api.worker.onRun(async (run) => {
      for (const [at] of run.record.request.input.entries()) run.embed(vectorOf(at, 1_536));
      await run.complete();
    });
    const input = Array.from({ length: texts }, (_, at) => `text ${at}`);
    const base64 = await create({ input, encoding_format: 'base64' });
    const vectors = (answer: typeof base64) =>
      (answer.json()['data'] as { embedding: unknown }[]).map(({ embedding }) => embedding);
    expect(vectors(base64)).toEqual(input.map((_, at) => vectorOf(at, 1_536)));
    const numbers = vectors(await create({ input })) as number[][];
    expect(numbers).toHaveLength(texts);
    expect(numbers.at(-1)?.slice(0, 2)).toEqual([texts - 1, texts - 0.75]);
    await eventually(() => api.store.openEnds === 0 && api.bodyBudget.held === 0);
  });

  it('with a key are made once, and delivered as is asked for', async () => {
    const options = { headers: { 'idempotency-key': 'k' } };
    const [first, second] = await Promise.all([create({}, options), create({}, options)]);
    expect(second.json()).toEqual(first.json());
    const third = await create({ encoding_format: 'base64' }, options);
    expect(third.headers['idempotent-replayed']).toBe('true');
    expect(third.json()['data']).toMatchObject([{ embedding: vectorOf(0) }, { embedding: vectorOf(1) }]);
    expect(api.worker.runs).toHaveLength(1);
    expect((await create({ input: 'another' }, options)).json()).toMatchObject({
      error: { code: 'idempotency_mismatch' },
    });
  });

  it('leave nothing to be read without one', async () => {
    const id = String((await create()).headers['x-sluice-response-id']);
    expect((await api.get(`/v1/responses/${id}`)).status).toBe(404);
  });

  it.each([
    ['of nothing', { input: [] }, {}, 400, 'empty_array', 'input'],
    ['of an empty text', { input: ['a', ''] }, {}, 400, 'invalid_value', 'input[1]'],
    ['of a model that is none', { model: 'nope' }, {}, 400, 'model_not_found', 'model'],
    ['without a key', {}, { key: 'sk-wrong' }, 401, 'invalid_api_key', null],
    ['with a key that may not use the model', {}, { key: apiKeys.narrow }, 403, 'model_not_allowed', 'model'],
  ])('%s are refused', async (_what, members, options, status, code, param) => {
    const answer = await create(members, options);
    expect(answer.status).toBe(status);
    expect(answer.json()).toMatchObject({ error: { code, param } });
  });

  it('over a limit say when to come back', async () => {
    const options = { key: apiKeys.limited };
    await create({}, options);
    await create({}, options);
    const { status, headers } = await create({}, options);
    expect(status).toBe(429);
    expect(headers).toHaveProperty('retry-after');
  });

  it('that fail are an error with its status', async () => {
    api.worker.onRun((run) => run.fail('context_length_exceeded'));
    const { status, json } = await create();
    expect(status).toBe(400);
    expect(json()).toMatchObject({ error: { code: 'context_length_exceeded', param: 'input' } });
  });
});
