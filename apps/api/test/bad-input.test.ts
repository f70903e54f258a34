import { createResponseSchema } from '@sluice/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKeys, model, startTestApi, type TestApi } from './test-api.ts';

const bodyBytes = 100_000;

let api: TestApi;
let before: string[];

beforeAll(async () => {
  api = await startTestApi({ bodyBytes });
  before = await api.stored();
});

// A refused request reaches no worker and leaves nothing in the store, whichever test sent it.
afterAll(async () => {
  const after = await api.stored();
  const { runs } = api.worker;
  await api.stop();
  expect(after).toEqual(before);
  expect(runs).toEqual([]);
});

const input = 'Hi';

describe('a body that says something wrong', () => {
  // `parse-create-response.test.ts` has the others.
  it.each<[string, object, string, string]>([
    ['no model', { input }, 'missing_required_parameter', 'model'],
    ['no input', { model }, 'missing_required_parameter', 'input'],
    ['neither', {}, 'missing_required_parameter', 'model'],
    ['an unknown model', { model: 'nope', input }, 'model_not_found', 'model'],
    ['a list for the temperature', { model, input, temperature: [1] }, 'invalid_type', 'temperature'],
    ['half a token', { model, input, max_output_tokens: 16.5 }, 'invalid_type', 'max_output_tokens'],
    ['a number in metadata', { model, input, metadata: { a: 1 } }, 'invalid_type', 'metadata.a'],
    ['text for tools', { model, input, tools: 'all' }, 'invalid_type', 'tools'],
  ])('%s is refused by name', async (_what, body, code, param) => {
    const answer = await api.create(body);
    expect(answer.json()).toEqual({
      error: { type: 'invalid_request_error', code, param, message: expect.any(String) },
    });
    expect(answer.status).toBe(400);
  });

  it('is refused for its first mistake alone', async () => {
    const answer = await api.create({ model, input, temperature: 9, top_p: 9, stream: 'x' });
    expect(answer.json()).toMatchObject({ error: { param: 'stream' } });
  });

  it.each(['[]', '"text"', '7', 'null', 'true'])('%s is no object', async (body) => {
    const answer = await api.create(body);
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({ error: { code: 'invalid_type', param: null } });
  });

  it('never has its words in the answer but for a short name of a model', async () => {
    const answer = await api.create({ model: `<b>\r\n${'x'.repeat(500)}`, input });
    expect(answer.status).toBe(400);
    expect(answer.text.length).toBeLessThan(250);
    expect(answer.text).not.toContain('\\r');
  });
});

describe('any value of any member', () => {
  const odd = [
    null,
    true,
    0,
    -1,
    1e308,
    '',
    'x',
    '\u0000\ud800',
    [],
    [null],
    [[]],
    ['x'],
    [{}],
    {},
    { type: 'x' },
    { type: 'message' },
    { id: {} },
    { format: { type: 'json_schema', schema: 7 } },
    [{ type: 'function' }],
    [{ type: 'function_call_output', call_id: null }],
    [{ role: 'user', content: [{ type: 'input_image', image_url: 7 }] }],
    [{ type: 'item_reference', id: 'msg_x' }],
  ];

  it.each(Object.keys(createResponseSchema.shape))('of %s is at worst refused', async (member) => {
    for (const value of odd) {
      // Refused in any case, so that nothing runs.
      const answer = await api.create({ model: 'nope', input, [member]: value });
      expect([400, 404]).toContain(answer.status);
      expect(answer.json()).toMatchObject({
        error: { code: expect.any(String), message: expect.any(String) },
      });
    }
  });
});

describe('a body that is no JSON we take', () => {
  const deep = (opening: string, closing: string) => opening.repeat(5_000) + closing.repeat(5_000);

  it.each<[string, string | Buffer]>([
    ['broken JSON', '{"model":"m","input":"Hi"'],
    ['nothing but space', '   '],
    ['JSON with a tail', `{"model":"m","input":"Hi"}{}`],
    ['JSON with a comment', '{"model":"m","input":"Hi" /* ! */}'],
    ['a list 5,000 deep', `{"model":"m","input":${deep('[', ']')}}`],
    ['an object 5,000 deep', `{"model":"m","input":${deep('{"a":', '}').replace(':}', ':1}')}}`],
    ['a list 5,000 deep alone', deep('[', ']')],
    ['a member named twice', '{"model":"m","input":"Hi","model":"other"}'],
    ['a member named twice in other letters', '{"model":"m","input":"Hi","\\u006dodel":"other"}'],
    ['a member named twice far inside', '{"model":"m","input":"Hi","metadata":{"a":"1","a":"2"}}'],
    ['__proto__', '{"model":"m","input":"Hi","__proto__":{"isAdmin":true}}'],
    ['__proto__ far inside', '{"model":"m","input":"Hi","metadata":{"__proto__":"x"}}'],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ['half a character', Buffer.from('{"model":"m","input":"\u{1F600}"}').subarray(0, -4)],
  ])('%s is refused as invalid JSON', async (_what, body) => {
    const answer = await api.create(body);
    expect(answer.json()).toEqual({
      error: {
        type: 'invalid_request_error',
        code: 'invalid_json',
        param: null,
        message: expect.any(String),
      },
    });
    expect(answer.status).toBe(400);
  });

  it('leaves no trace on the prototypes', async () => {
    await api.create('{"model":"m","input":[],"constructor":{"prototype":{"isAdmin":true}}}');
    await api.create('{"model":"m","input":[],"__proto__":{"isAdmin":true}}');
    expect({}).not.toHaveProperty('isAdmin');
  });
});

describe('a body in another form', () => {
  const body = JSON.stringify({ model, input });

  it.each([
    ['text', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a multipart form', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['JSON of another kind', { 'content-type': 'application/json-patch+json' }],
    ['an empty type', { 'content-type': '' }],
    ['a type that is none', { 'content-type': 'json' }],
    ['a type behind a tab', { 'content-type': 'application/json\ta' }],
    ['UTF-16', { 'content-type': 'application/json; charset=utf-16' }],
    ['a compressed body', { 'content-encoding': 'gzip' }],
    ['a body compressed twice', { 'content-encoding': 'gzip, br' }],
  ])('%s is refused', async (_what, headers) => {
    const answer = await api.create(body, { headers });
    expect(answer.status).toBe(415);
    expect(answer.json()).toMatchObject({
      error: { code: 'unsupported_media_type', type: 'invalid_request_error' },
    });
  });

  it('without a type is refused', async () => {
    const answer = await api.app.inject({
      method: 'POST',
      url: '/v1/responses',
      headers: { authorization: `Bearer ${apiKeys.first}` },
      payload: Buffer.from(body),
    });
    expect(answer.statusCode).toBe(415);
  });

  it.each(['utf-8', 'UTF8', '"utf-8"'])('whose charset is written %s is taken', async (charset) => {
    const headers = { 'content-type': `application/json; charset=${charset}` };
    const answer = await api.create(JSON.stringify({ model }), { headers });
    expect(answer.json()).toMatchObject({ error: { code: 'missing_required_parameter', param: 'input' } });
  });

  it('that is too large is refused', async () => {
    const answer = await api.create({ model, input: 'x'.repeat(bodyBytes) });
    expect(answer.status).toBe(413);
    expect(answer.json()).toMatchObject({ error: { code: 'request_too_large' } });
  });

  it('of nobody with a key is not looked at', async () => {
    const headers = { 'content-type': 'text/plain', 'content-encoding': 'gzip' };
    expect((await api.create(body, { headers, key: 'sk-wrong' })).status).toBe(401);
    expect((await api.create('x'.repeat(2 * bodyBytes), { key: 'sk-wrong' })).status).toBe(401);
  });
});

describe('a path or method that is not there', () => {
  const ask = (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS', url: string) =>
    api.app.inject({ method, url, headers: { authorization: `Bearer ${apiKeys.first}` } });

  it.each([
    '/',
    '/v1',
    '/v1/',
    '/v1/nope',
    '/v2/responses',
    '/api/responses',
    '/V1/responses',
    '/v1//responses',
  ])('%s is not found', async (url) => {
    const answer = await ask('GET', url);
    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toMatchObject({ error: { code: 'not_found', type: 'not_found' } });
    expect(answer.body).not.toContain('nope');
  });

  it.each(['/v1/responses/', '/v1/responses/compact/'])('a POST to %s is not found', async (url) => {
    const answer = await ask('POST', url);
    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toMatchObject({ error: { code: 'not_found' } });
  });

  it.each([
    ['PUT', '/v1/responses', /POST/],
    ['DELETE', '/api/v1/responses', /POST/],
    ['PATCH', '/v1/responses/create-response_x', /GET/],
    ['PUT', '/v1/responses/compact', /POST/],
    ['POST', '/v1/models', /GET/],
    ['POST', '/v1/models/vendor/model', /GET/],
    ['OPTIONS', '/v1/responses', /POST/],
    ['POST', '/healthz', /GET/],
  ] as const)('%s %s names the methods that are', async (method, url, allow) => {
    const answer = await ask(method, url);
    expect(answer.statusCode).toBe(405);
    expect(answer.headers.allow).toMatch(allow);
    expect(answer.headers.allow).not.toContain(method);
    expect(answer.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
  });

  it('of a length that no id has is an unknown id', async () => {
    expect((await api.get(`/v1/responses/${'a'.repeat(600)}`)).status).toBe(404);
  });

  it.each(['%E0%A4%A', '%ff', '%zz', '%', '%c0%80'])('that has %s is no URL and is refused', async (part) => {
    const answer = await ask('GET', `/v1/responses/${part}`);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ error: { code: 'invalid_request' } });
  });
});

describe('a key', () => {
  const asks = (authorization: string | undefined) =>
    api.app.inject({
      method: 'POST',
      url: '/v1/responses',
      headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) },
      payload: JSON.stringify({ model, input }),
    });

  it('that is missing, malformed, unknown, disabled or expired gets one and the same answer', async () => {
    const answers = await Promise.all(
      [
        undefined,
        '',
        'Bearer',
        'Bearer ',
        'Bearer a b',
        'Bearer \u00e9',
        `Bearer ${'x'.repeat(600)}`,
        'Basic dTpw',
        apiKeys.first,
        `Token ${apiKeys.first}`,
        `Bearer ${apiKeys.first}x`,
        `Bearer ${apiKeys.first.slice(0, -1)}`,
        `Bearer ${apiKeys.first.toUpperCase()}`,
        `Bearer ${apiKeys.disabled}`,
        `Bearer ${apiKeys.expired}`,
      ].map(asks),
    );
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    for (const { statusCode, headers, body } of answers) {
      expect(statusCode).toBe(401);
      expect(headers['www-authenticate']).toBe('Bearer');
      expect(body).not.toMatch(/sk-sluice/);
    }
    expect(answers[0]?.json()).toEqual({
      error: {
        type: 'invalid_request_error',
        code: 'invalid_api_key',
        param: null,
        message: expect.any(String),
      },
    });
  });

  it('does not get into the log', () => {
    const secrets = Object.values(apiKeys);
    for (const line of api.logged) for (const secret of secrets) expect(line).not.toContain(secret);
  });

  it('in the query is not looked at', async () => {
    const answer = await api.app.inject({ url: `/v1/models?api_key=${apiKeys.first}&key=${apiKeys.first}` });
    expect(answer.statusCode).toBe(401);
  });

  it('that may not use the model is told so', async () => {
    const answer = await api.create({ model, input }, { key: apiKeys.narrow });
    expect(answer.status).toBe(403);
    expect(answer.json()).toMatchObject({
      error: { code: 'model_not_allowed', type: 'permission_error', param: 'model' },
    });
  });

  it.each([
    '/v1/models',
    '/v1/models/m',
    `/v1/responses/create-response_${'a'.repeat(32)}`,
    '/api/v1/models',
  ])('is needed for %s', async (url) => {
    expect((await api.app.inject({ url })).statusCode).toBe(401);
  });

  it('is not needed to see whether the process is well', async () => {
    expect((await api.app.inject({ url: '/healthz' })).statusCode).toBe(200);
    expect((await api.app.inject({ url: '/readyz' })).statusCode).toBe(200);
  });
});
