import { describe, expect, it } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';

const api = eachTestApi();

/** Asks as the clients of Anthropic do. */
const asAnthropic = async (
  url: string,
  { key = apiKeys.first, method = 'GET' }: { key?: string; method?: 'GET' | 'PUT' } = {},
) => {
  const headers = { 'x-api-key': key, 'anthropic-version': '2023-06-01' };
  const answer = await api.app.inject({ method, url, headers });
  expect(answer.headers['request-id']).toBe(answer.headers['x-request-id']);
  return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
};

describe.each(['/v1', '/api/v1'])('the models for a client of Anthropic at %s', (mount) => {
  const page = async (query: string) => {
    const { body } = await asAnthropic(`${mount}/models${query}`);
    const { data, ...rest } = body as { data: { id: string }[] };
    return { ids: data.map(({ id }) => id), ...rest };
  };

  it('are a page of its kind', async () => {
    const { body } = await asAnthropic(`${mount}/models`);
    const { data } = body as { data: { id: string }[] };
    expect(data[0]).toEqual({
      type: 'model',
      id: model,
      display_name: model,
      created_at: '1970-01-01T00:16:40.000Z',
    });
    expect(body).toMatchObject({ has_more: false, first_id: model, last_id: data.at(-1)?.id });
    expect((await asAnthropic(`${mount}/models/${model}`)).body).toEqual(data[0]);
  });

  it('come by pages, in both directions', async () => {
    const { ids: all } = await page('');
    const [first = '', second = '', third = ''] = all;
    const last = all.at(-1) ?? '';
    const after = await page(`?limit=1&after_id=${first}`);
    expect(after).toEqual({ ids: [second], has_more: true, first_id: second, last_id: second });
    const before = await page(`?limit=1&before_id=${third}`);
    expect(before).toEqual({ ids: [second], has_more: true, first_id: second, last_id: second });
    expect(await page(`?before_id=${third}`)).toMatchObject({ ids: [first, second], has_more: false });
    expect(await page(`?limit=1000&after_id=${first}`)).toMatchObject({ ids: all.slice(1), has_more: false });
    const none = { ids: [], has_more: false, first_id: null, last_id: null };
    expect(await page(`?after_id=${last}`)).toEqual(none);
  });

  it.each([
    ['?limit=0', 'limit'],
    ['?limit=1001', 'limit'],
    ['?limit=many', 'limit'],
    ['?limit=1&limit=2', 'limit'],
    ['?after_id=nothing', 'after_id'],
    ['?before_id=nothing', 'before_id'],
    [`?after_id=${model}&before_id=${model}`, 'before_id'],
  ])('are refused with %s', async (query, param) => {
    const { status, body } = await asAnthropic(`${mount}/models${query}`);
    expect(status).toBe(400);
    expect(body).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', details: { param } },
    });
  });

  it('are those of OpenAI for other clients, whatever the query says', async () => {
    const { headers, json } = await api.get(`${mount}/models?limit=many`);
    expect(json()).toMatchObject({ object: 'list' });
    expect(headers).not.toHaveProperty('request-id');
    expect((await api.get(`${mount}/models/none`)).json()).toMatchObject({ error: { code: 'not_found' } });
  });

  it.each<[string, { key?: string; method?: 'PUT' }, number, string]>([
    ['/models/none', {}, 404, 'not_found_error'],
    ['/models', { key: 'sk-wrong' }, 401, 'authentication_error'],
    ['/models', { method: 'PUT' }, 405, 'invalid_request_error'],
    ['/messages', {}, 405, 'invalid_request_error'],
    ['/messages/nothing', {}, 404, 'not_found_error'],
    ['/messages/batches?limit=0', {}, 400, 'invalid_request_error'],
    ['/messages/%zz', {}, 400, 'invalid_request_error'],
  ])('fail in its form: %s %o', async (path, options, status, type) => {
    const answer = await asAnthropic(mount + path, options);
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({ type: 'error', error: { type } });
  });
});

it('what is below messages answers in its form to a client that does not say its version', async () => {
  const { status, headers, json } = await api.get('/v1/messages/nothing?a=/v1/models');
  expect(status).toBe(404);
  expect(json()).toMatchObject({ type: 'error', request_id: headers['request-id'] });
  expect((await api.get('/v1/messages-of-old')).json()).toMatchObject({ error: { code: 'not_found' } });
});
