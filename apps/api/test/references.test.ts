import { eventually, type LocalRedis, startLocalRedis } from '@sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { startableTestApi } from './kept-api.ts';
import { apiKeys, model, type TestApiOptions } from './test-api.ts';

const api = startableTestApi();
let own: LocalRedis | undefined;

afterEach(async () => {
  await api.stop();
  await own?.stop();
  own = undefined;
});

/** An api whose Redis nobody else uses, so that what it sends can be counted. */
async function apart(options: TestApiOptions = {}): Promise<void> {
  own = await startLocalRedis();
  await api.start({ redisUrl: own.url, ...options });
}

async function sentByRedis(step: () => Promise<unknown>): Promise<number> {
  const sent = async () => {
    const stats = await api.redis.client.info('stats');
    return Number(/total_net_output_bytes:(\d+)/.exec(stats)?.[1]);
  };
  const before = await sent();
  await step();
  return (await sent()) - before;
}

/** Creates a response that ends, and returns its id. */
async function ended(body: object): Promise<string> {
  const answer = await api.create({ model, input: 'Hi', ...body });
  expect(answer.status).toBe(200);
  return String(answer.json()['id']);
}

const itemOf = (responseId: string) => ({
  type: 'item_reference',
  id: `${responseId.replace('create-response_', 'msg_')}00000`,
});

describe('a request that is refused', () => {
  it('costs Redis a few bytes, however large what it continues from is', async () => {
    await apart();
    api.worker.answer('long '.repeat(200_000));
    const first = await ended({});
    const second = await ended({ previous_response_id: first });
    const third = await ended({ previous_response_id: second });
    const body = {
      model,
      previous_response_id: third,
      input: [{ type: 'function_call_output', call_id: 'call_none', output: 'x' }],
    };
    const sent = await sentByRedis(async () => {
      for (let times = 0; times < 4; times += 1) {
        const refused = await api.create(body);
        expect(refused.status).toBe(400);
        expect(refused.json()).toMatchObject({ error: { code: 'tool_call_not_found', param: 'input' } });
      }
    });
    // The looks at the counters and what the worker asks meanwhile are in it.
    expect(sent).toBeLessThan(4 * 8_000);
  });

  it('costs Redis a few bytes when it refers to more than a body may hold', async () => {
    await apart({ bodyBytes: 200_000 });
    const ids: string[] = [];
    for (let times = 0; times < 3; times += 1) ids.push(await ended({ input: 'long '.repeat(20_000) }));
    const sent = await sentByRedis(async () => {
      const refused = await api.create({ model, input: ids.map(itemOf) });
      expect(refused.status).toBe(413);
      expect(refused.json()).toMatchObject({ error: { code: 'request_too_large', param: 'input' } });
    });
    expect(sent).toBeLessThan(8_000);
    expect((await api.create({ model, input: ids.slice(1).map(itemOf) })).status).toBe(413);
    expect((await api.create({ model, input: ids.slice(2).map(itemOf) })).status).toBe(200);
    // The same item counts each time.
    const [id = ''] = ids;
    expect((await api.create({ model, input: [id, id, id].map(itemOf) })).status).toBe(413);
  });

  it.each([
    { what: 'responses', options: { contextTurns: 1 } },
    { what: 'bytes', options: { contextBytes: 1_024 } },
  ])('is told that it continues from too many $what', async ({ options }) => {
    await api.start(options);
    const first = await ended({ input: 'long '.repeat(200) });
    const chained = { model, input: 'Hi', previous_response_id: first };
    const second = options.contextTurns ? await ended(chained) : first;
    const refused = await api.create({ ...chained, previous_response_id: second });
    expect(refused.status).toBe(400);
    expect(refused.json()).toMatchObject({
      error: { code: 'context_length_exceeded', param: 'previous_response_id' },
    });
  });

  it('is told that its items belong to too many responses', async () => {
    await api.start({ contextTurns: 2 });
    const ids = [await ended({}), await ended({}), await ended({})];
    const refused = await api.create({ model, input: ids.map(itemOf) });
    expect(refused.status).toBe(400);
    expect(refused.json()).toMatchObject({ error: { code: 'array_above_max_length', param: 'input' } });
    expect((await api.create({ model, input: [...ids.slice(1), ...ids.slice(1)].map(itemOf) })).status).toBe(
      200,
    );
  });
});

describe('an item that is referred to', () => {
  it('may be the call that an output answers, and counts as one of the conversation', async () => {
    await api.start();
    const call = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' };
    const called = await ended({ input: [call] });
    const reference = { type: 'item_reference', id: `${called.replace('create-response_', 'fc_')}00000` };
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'x' };
    expect((await api.create({ model, input: [output] })).status).toBe(400);
    const answered = await ended({ input: [reference, output] });
    expect(api.worker.runs.at(-1)?.record.request.input).toEqual([call, output]);
    expect((await api.create({ model, input: [output], previous_response_id: answered })).status).toBe(200);
    const inputs = api.worker.runs.at(-1)?.record.request.input ?? [];
    expect(inputs.map(({ type }) => type)).toEqual([call.type, output.type, 'message', output.type]);
  });
});

describe('what is read of large stored inputs', () => {
  const bodyBytes = 200_000;
  const input = 'x'.repeat(190_000);

  /** An api in which a tenant may have one of these in memory, and its stored response. */
  async function stored(options: TestApiOptions = {}): Promise<string> {
    await api.start({ bodyBytes, bodyBytesInFlight: 2 * bodyBytes, ...options });
    return ended({ input });
  }

  it('counts as bytes in flight of its tenant, before any of it is read', async () => {
    const id = await stored({ redisUrl: (own = await startLocalRedis()).url });
    const listed = () => api.get(`/v1/responses/${id}/input_items`);
    const referring = () => api.create({ model, input: [itemOf(id)] });
    const held = api.bodyBudget.open('first');
    held.grow(bodyBytes / 2);
    for (const ask of [listed, referring]) {
      let status = 0;
      const sent = await sentByRedis(async () => ({ status } = await ask()));
      expect(status).toBe(429);
      expect(sent).toBeLessThan(bodyBytes / 2);
    }
    held.release();
    const answer = await listed();
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({
      data: [{ type: 'message', content: [{ text: input }] }],
      has_more: false,
    });
    await eventually(() => api.bodyBudget.held === 0);
    expect((await referring()).status).toBe(200);
    await eventually(() => api.bodyBudget.held === 0);
  });

  it('is too much together with a body that fills the half of its tenant', async () => {
    const id = await stored();
    const refused = await api.create({ model, input: [itemOf(id), { role: 'user', content: input }] });
    expect(refused.status).toBe(413);
    expect(refused.json()).toMatchObject({ error: { code: 'request_too_large' } });
    await eventually(() => api.bodyBudget.held === 0);
  });

  it('is given back when it is not there', async () => {
    const id = await stored();
    const missing = itemOf(id).id.replace(/0{5}$/, '00007');
    expect((await api.create({ model, input: [{ type: 'item_reference', id: missing }] })).status).toBe(404);
    const listed = await api.get(`/v1/responses/${id}/input_items?after=${missing}`);
    expect(listed.json()).toMatchObject({ error: { code: 'invalid_value', param: 'after' } });
    await eventually(() => api.bodyBudget.held === 0);
  });
});

describe('large bodies', () => {
  it('are taken several at once, beside the small ones of a neighbour', async () => {
    // A thread has as long as a machine needs that does much else.
    await api.start({ bodyBytes: 20_000_000, threadMs: 120_000 });
    const part = { type: 'input_text', text: 'x'.repeat(8_000_000) };
    const body = JSON.stringify({ model, input: [{ role: 'user', content: [part, part] }] });
    let isDone = false;
    const large = Promise.all([1, 2, 3, 4].map(() => api.create(body))).finally(() => (isDone = true));
    const neighbour = (async () => {
      const statuses = [];
      while (!isDone) {
        statuses.push((await api.create({ model, input: 'Hi' }, { key: apiKeys.second })).status);
      }
      return statuses;
    })();
    const answers = await large;
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const statuses = await neighbour;
    expect(statuses).toEqual(statuses.map(() => 200));
    const listed = await api.get(`/v1/responses/${String(answers[0]?.json()['id'])}/input_items`);
    expect(listed.json()).toMatchObject({ data: [{ content: [part, part] }] });
  });

  it('are shown whole when it is their instructions that are large', async () => {
    await api.start();
    const instructions = 'rules '.repeat(20_000);
    const id = await ended({ instructions });
    expect((await api.get(`/v1/responses/${id}`)).json()).toMatchObject({ instructions });
    expect(api.worker.runs.at(-1)?.record.request).toMatchObject({ instructions });
    expect((await api.get('/v1/responses')).json()).toMatchObject({ data: [{ id, instructions }] });
  });
});
