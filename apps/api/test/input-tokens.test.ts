import { describe, expect, it } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { type Answer, apiKeys, model } from './test-api.ts';

// A thread loads a tokenizer slowly on a busy machine.
const api = eachTestApi({ bodyBytes: 8_000_000, threadMs: 25_000 });

function count(body: unknown, { key = apiKeys.first, mount = '/v1' } = {}): Promise<Answer> {
  return api.create(body, { key, mount, path: '/responses/input_tokens' });
}

async function tokensOf(body: unknown): Promise<{ input_tokens: number; method: string }> {
  const answer = await count(body);
  expect(answer.status, answer.text).toBe(200);
  return answer.json() as { input_tokens: number; method: string };
}

const hello = { model: 'counted', input: 'hello world' };

describe('counting input tokens', () => {
  it('answers at both mounts, and creates nothing', async () => {
    for (const mount of ['/v1', '/api/v1']) {
      const answer = await count(hello, { mount });
      // Two of the text, and four for the frame of a message.
      expect(answer.json()).toEqual({
        object: 'response.input_tokens',
        input_tokens: 6,
        method: 'tokenizer',
      });
    }
    expect(api.worker.runs).toEqual([]);
    expect((await api.stored()).filter((name) => /response|large|log/.test(name))).toEqual([]);
  });

  it('estimates where the model has no tokenizer, or none is named', async () => {
    expect(await tokensOf({ model, input: 'x'.repeat(400) })).toMatchObject({
      input_tokens: 104,
      method: 'estimate',
    });
    expect(await tokensOf({ input: 'x'.repeat(400) })).toMatchObject({ input_tokens: 104 });
    expect(await tokensOf({})).toMatchObject({ input_tokens: 0, method: 'estimate' });
    expect(await tokensOf({ model: null, input: null, tools: null })).toMatchObject({ input_tokens: 0 });
  });

  it('counts instructions, tools, calls and their outputs', async () => {
    const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];
    const { input_tokens: plain } = await tokensOf(hello);
    const { input_tokens: instructed } = await tokensOf({ ...hello, instructions: 'hello world' });
    const { input_tokens: equipped } = await tokensOf({ ...hello, tools });
    const { input_tokens: answered } = await tokensOf({
      model: 'counted',
      input: [
        { role: 'user', content: 'hello world' },
        { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'hello world' },
      ],
    });
    expect(instructed).toBe(plain + 2);
    expect(equipped).toBeGreaterThan(plain + 10);
    expect(answered).toBeGreaterThan(plain + 10);
  });

  it('says that media and sealed content are estimated', async () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' };
    const withImage = { ...hello, input: [{ role: 'user', content: [image] }] };
    expect(await tokensOf(withImage)).toMatchObject({ method: 'estimate' });
    api.worker.onRun((run) => {
      run.think('x'.repeat(4_000));
      return run.complete();
    });
    const include = ['reasoning.encrypted_content'];
    const created = await api.create({ model, input: 'Hi', store: false, include });
    const { output } = created.json() as { output: object[] };
    const counted = await tokensOf({ model: 'counted', input: output });
    expect(counted).toMatchObject({ method: 'estimate' });
    expect(counted.input_tokens).toBeGreaterThan(1_000);
  });

  it('has what a response continues from as its upstream counted it, and reads items that are referred to', async () => {
    const first = await api.create({ model, input: 'hello world' });
    const { id, output } = first.json() as { id: string; output: { id: string }[] };
    const continued = await tokensOf({ ...hello, previous_response_id: id });
    expect(continued).toMatchObject({ input_tokens: 6 + 5, method: 'estimate' });
    const referring = await tokensOf({
      model: 'counted',
      input: [{ type: 'item_reference', id: output[0]?.id }],
    });
    expect(referring).toMatchObject({ input_tokens: 5, method: 'tokenizer' });
  });

  it('finds nothing of another tenant', async () => {
    const first = await api.create({ model, input: 'hello world' });
    const { id, output } = first.json() as { id: string; output: { id: string }[] };
    const key = apiKeys.second;
    const continued = await count({ ...hello, previous_response_id: id }, { key });
    expect(continued.status).toBe(400);
    expect(continued.json()).toMatchObject({
      error: { code: 'previous_response_not_found', param: 'previous_response_id' },
    });
    const referring = await count({ input: [{ type: 'item_reference', id: output[0]?.id }] }, { key });
    expect(referring.status).toBe(404);
    expect(referring.json()).toMatchObject({ error: { code: 'item_not_found', param: 'input' } });
  });

  it.each([
    [undefined, 'invalid_json', null],
    ['[]', 'invalid_type', null],
    [{ model: 'none', input: 'x' }, 'model_not_found', 'model'],
    [{ input: 7 }, 'invalid_type', 'input'],
    [{ input: [{ type: 'wat' }] }, 'invalid_value', 'input[0]'],
    [{ conversation: 'c' }, 'unsupported_parameter', 'conversation'],
    [
      { conversation: 'c', previous_response_id: 'r' },
      'mutually_exclusive_parameters',
      'previous_response_id',
    ],
    [{ previous_response_id: 'r' }, 'previous_response_not_found', 'previous_response_id'],
    [
      { input: [{ type: 'compaction', encrypted_content: 'AAAA' }] },
      'invalid_encrypted_content',
      'input[0].encrypted_content',
    ],
  ])('refuses %j with %s', async (body, code, param) => {
    const answer = await count(body ?? '');
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({ error: { code, param } });
  });

  it('refuses a model that the key may not use', async () => {
    expect((await count({ model, input: 'x' }, { key: apiKeys.narrow })).status).toBe(403);
  });

  it('counts as a read of its tenant', async () => {
    const key = apiKeys.reader;
    for (let times = 0; times < 3; times += 1) expect((await count({}, { key })).status).toBe(200);
    const refused = await count({}, { key });
    expect(refused.status).toBe(429);
    expect(refused.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
  });

  it('estimates what no thread has counted in time', async () => {
    await api.start({ threadMs: 1 });
    expect(await tokensOf(hello)).toMatchObject({ input_tokens: 7, method: 'estimate' });
  });

  it('estimates what would take too long, and serves others meanwhile', async () => {
    const long = count({ model: 'counted', input: 'x'.repeat(4_400_000) });
    let isCounted = false;
    const counted = long.finally(() => {
      isCounted = true;
    });
    expect((await count({ input: 'x' }, { key: apiKeys.second })).status).toBe(200);
    expect(isCounted).toBe(false);
    expect((await counted).json()).toMatchObject({ input_tokens: 1_100_004, method: 'estimate' });
  });
});
