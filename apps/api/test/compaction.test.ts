import { compactionSchema } from '@sluice/contract';
import { eventually } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { startableTestApi } from './kept-api.ts';
import { type Answer, apiKeys, model, type TestApiOptions } from './test-api.ts';

const api = startableTestApi();

async function start(options: TestApiOptions = {}): Promise<void> {
  await api.start(options);
  api.worker.onRun((run) => {
    run.think('What matters here?');
    run.say('They spoke of rain.');
    return run.complete();
  });
}

function compact(
  body: unknown,
  {
    key = apiKeys.first,
    mount = '/v1',
    signal,
  }: {
    key?: string;
    mount?: string;
    signal?: AbortSignal;
  } = {},
): Promise<Answer> {
  return api.create(body, { key, mount, path: '/responses/compact', ...(signal && { signal }) });
}

async function windowOf(body: object, key = apiKeys.first) {
  const answer = await compact(body, { key });
  expect(answer.status, answer.text).toBe(200);
  return compactionSchema.parse(answer.json());
}

const user = (text: string) => ({ role: 'user', content: text });
const kept = (text: string) => ({
  type: 'message',
  id: expect.stringMatching(/^msg_/),
  status: 'completed',
  role: 'user',
  content: [{ type: 'input_text', text }],
});
const compactionItem = {
  type: 'compaction',
  id: expect.stringMatching(/^cmp_/),
  encrypted_content: expect.stringMatching(/^[\w-]{50,}$/),
};
const conversation = [
  { role: 'developer', content: 'Be kind.' },
  user('Will it rain?'),
  { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
  { type: 'function_call_output', call_id: 'c1', output: 'wet' },
  { role: 'assistant', content: 'It will.' },
  { role: 'user', content: [{ type: 'input_text', text: 'Sure?' }] },
];

describe('compacting a conversation', () => {
  it("answers with the user's messages and one item for all the rest, the same at both mounts", async () => {
    await start();
    for (const mount of ['/v1', '/api/v1']) {
      const answer = await compact({ model, input: conversation }, { mount });
      expect(answer.status, answer.text).toBe(200);
      expect(answer.headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8' });
      expect(compactionSchema.parse(answer.json())).toEqual({
        id: expect.stringMatching(/^compact-response_/),
        object: 'response.compaction',
        created_at: expect.any(Number),
        output: [kept('Will it rain?'), kept('Sure?'), compactionItem],
        usage: expect.objectContaining({ total_tokens: 5 }),
      });
      expect(answer.text).not.toContain('rain.');
    }
  });

  it('has a model sum up the whole of it, and what the client asks for besides', async () => {
    await start();
    await windowOf({ model, input: conversation, instructions: 'Keep the names.', service_tier: 'flex' });
    const { input, instructions } = api.worker.runs[0]?.record.request ?? {};
    expect(input?.slice(0, -1)).toMatchObject(conversation);
    expect(input?.at(-1)).toMatchObject({ role: 'user', content: expect.stringContaining('summary') });
    expect(instructions).toContain('Keep the names.');
  });

  it('keeps nothing that could be read, listed, continued or referred to', async () => {
    await start();
    const { id, output } = await windowOf({ model, input: 'Hi' });
    const internal = api.worker.runs[0]?.record.id ?? '';
    for (const each of [id, internal]) {
      expect((await api.get(`/v1/responses/${each}`)).status).toBe(404);
      expect((await api.get(`/v1/responses/${each}/input_items`)).status).toBe(404);
      const continued = await api.create({ model, input: 'x', previous_response_id: each });
      expect(continued.json()).toMatchObject({ error: { code: 'previous_response_not_found' } });
    }
    const referring = await api.create({ model, input: [{ type: 'item_reference', id: output[0]?.id }] });
    expect(referring.status).toBe(404);
    expect((await api.get('/v1/responses')).json()).toMatchObject({ data: [] });
    // A sample of finished jobs stays, which hold an id each.
    const content = async () => (await api.stored()).filter((name) => !name.includes(':bull:')).join();
    await eventually(async () => expect(await content()).not.toContain(internal));
  });

  it('compacts what a response continues from, also without an input of its own', async () => {
    await start();
    const first = (await api.create({ model, input: [user('One'), user('Two')] })).json();
    const second = (await api.create({ model, input: 'Three', previous_response_id: first['id'] })).json();
    const alone = await windowOf({ model, previous_response_id: second['id'], input: null });
    expect(alone.output).toEqual([kept('One'), kept('Two'), kept('Three'), compactionItem]);
    const more = await windowOf({ model, previous_response_id: second['id'], input: 'Four' });
    expect(more.output).toEqual([kept('One'), kept('Two'), kept('Three'), kept('Four'), compactionItem]);
  });

  it('gives large messages back as well', async () => {
    await start();
    const long = 'x'.repeat(300_000);
    const { output } = await windowOf({ model, input: [user(long), user('short')] });
    expect(output).toEqual([kept(long), kept('short'), compactionItem]);
  });

  it('counts as a request of its tenant', async () => {
    await start();
    const key = apiKeys.limited;
    for (let times = 0; times < 2; times += 1) await windowOf({ model, input: 'Hi' }, key);
    const refused = await compact({ model, input: 'Hi' }, { key });
    expect(refused.status).toBe(429);
    expect(refused.headers).toMatchObject({ 'x-ratelimit-remaining-requests': '0' });
  });

  it('fails as a response does that its caller waits for', async () => {
    await start();
    api.worker.onRun((run) => run.fail('upstream_error'));
    const failed = await compact({ model, input: 'Hi' });
    expect(failed.status).toBe(502);
    expect(failed.json()).toMatchObject({ error: { code: 'upstream_error' } });
  });

  it('fails when the model says nothing', async () => {
    await start();
    api.worker.onRun((run) => run.complete());
    const failed = await compact({ model, input: 'Hi' });
    expect(failed.status).toBe(500);
    expect(failed.json()).toMatchObject({ error: { code: 'model_error' } });
    expect(failed.headers).toMatchObject({ 'x-should-retry': 'false' });
  });

  it('ends with its caller', async () => {
    await start();
    const { begun } = api.worker.hold();
    const leaving = new AbortController();
    const answer = api.fetch('/v1/responses/compact', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, input: 'Hi' }),
      signal: leaving.signal,
    });
    const { cancelled } = await begun.wait();
    leaving.abort();
    await expect(answer).rejects.toThrow();
    await eventually(() => expect(cancelled.aborted).toBe(true));
  });

  it.each([
    [{ input: 'x' }, 'missing_required_parameter', 'model'],
    [{ model }, 'missing_required_parameter', 'input'],
    [{ model, input: null }, 'missing_required_parameter', 'input'],
    [{ model, input: [] }, 'empty_array', 'input'],
    [{ model, input: 3 }, 'invalid_type', 'input'],
    [{ model: 'none', input: 'x' }, 'model_not_found', 'model'],
    [{ model, previous_response_id: 'none' }, 'previous_response_not_found', 'previous_response_id'],
    [{ model, input: 'x', prompt_cache_key: 'x'.repeat(65) }, 'string_above_max_length', 'prompt_cache_key'],
    [
      { model, input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] },
      'tool_call_not_found',
      'input',
    ],
  ])('refuses %j with %s', async (body, code, param) => {
    await start({ withoutWorker: true });
    const answer = await compact(body);
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({ error: { code, param } });
  });
});

describe('a compacted conversation', () => {
  const summary = {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'Summary of the conversation so far:\n\nThey spoke of rain.' }],
  };

  it('is taken back as it is, and the model is given its summary', async () => {
    await start();
    const { output } = await windowOf({ model, input: conversation });
    const answer = await api.create({ model, input: [...output, user('And tomorrow?')] });
    expect(answer.status, answer.text).toBe(200);
    expect(api.worker.runs.at(-1)?.record.request.input).toMatchObject([
      { role: 'user' },
      { role: 'user' },
      summary,
      user('And tomorrow?'),
    ]);
    const listed = await api.get(`/v1/responses/${String(answer.json()['id'])}/input_items`);
    expect(listed.json()).toMatchObject({
      data: [{ role: 'user' }, { type: 'compaction', id: expect.stringMatching(/^cmp_/) }, {}, {}],
    });
  });

  it('can be continued from, and compacted again', async () => {
    await start();
    const { output } = await windowOf({ model, input: 'Hi' });
    const first = await api.create({ model, input: output });
    await api.create({ model, input: 'Go on.', previous_response_id: first.json()['id'] });
    expect(api.worker.runs.at(-1)?.record.request.input[1]).toMatchObject(summary);
    const again = await windowOf({ model, input: [...output, user('More')] });
    expect(again.output).toEqual([kept('Hi'), kept('More'), compactionItem]);
    expect(api.worker.runs.at(-1)?.record.request.input[1]).toMatchObject(summary);
  });

  it('is refused when it was changed, or is that of another tenant', async () => {
    await start();
    const { output } = await windowOf({ model, input: 'Hi' });
    const foreign = await api.create({ model, input: output }, { key: apiKeys.second });
    const changed = output.map((item) =>
      item.type === 'compaction'
        ? { ...item, encrypted_content: `${item.encrypted_content.slice(0, -8)}AAAAAAAA` }
        : item,
    );
    for (const answer of [foreign, await api.create({ model, input: changed })]) {
      expect(answer.status).toBe(400);
      expect(answer.json()).toMatchObject({
        error: { code: 'invalid_encrypted_content', param: 'input[1].encrypted_content' },
      });
    }
  });

  it('counts as many tokens as its summary has', async () => {
    await start();
    api.worker.answer('x'.repeat(4_000));
    const { output } = await windowOf({ model, input: 'Hi' });
    const refused = await api.create({ model: 'small', input: output });
    expect(refused.json()).toMatchObject({ error: { code: 'context_length_exceeded' } });
  });
});
