import { newResponseId } from '@sluice/contract';
import { responseDetailSchema } from '@sluice/contract/admin';
import { randomBytes } from '@sluice/runtime';
import { eventually } from '@sluice/testing';
import { describe, expect, it, vi } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { apiKeys, model, type TestApi } from './test-api.ts';
import { eachTestAdmin } from './test-admin.ts';

const api = eachTestApi();
const admin = eachTestAdmin(api);

const withoutWorker = async () => {
  await admin.stop();
  await api.start({ withoutWorker: true });
  await admin.start();
};

async function ended(body: object, key = apiKeys.first): Promise<string> {
  const answer = await api.create({ model, input: 'Hi', ...body }, { key });
  expect(answer.status).toBe(200);
  const id = String(answer.json()['id']);
  await eventually(async () => (await api.store.read(id))?.end !== undefined);
  return id;
}

const detailOf = async (id: string) => responseDetailSchema.parse((await admin.ask(`/responses/${id}`)).body);

/** What a worker was given of a run, but for how its answer is delivered, as JSON: texts can be long. */
function given(run: TestApi['worker']['runs'][number] | undefined): string {
  const request: Record<string, unknown> = { ...run?.record.request };
  for (const name of ['background', 'store', 'stream']) Reflect.deleteProperty(request, name);
  return JSON.stringify(request);
}

const unknownIds = [
  newResponseId(randomBytes),
  'resp_123',
  'x',
  '%00',
  '%F0%9F%8C%8A',
  '..%2F..%2Fetc',
  'create-response_%0A',
  'a'.repeat(90),
  'a'.repeat(5_000),
  '__proto__',
];

describe('an id that is none', () => {
  it.each(unknownIds)('%s is not found', async (id) => {
    for (const path of [`/responses/${id}/cancel`, `/responses/${id}/retry`]) {
      expect(await admin.post(path)).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    }
    for (const path of [`/responses/${id}/content`, `/responses/${id}/events`]) {
      expect(await admin.ask(path)).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    }
  });
});

describe('cancelling a response', () => {
  it('ends one that waits, of any tenant', async () => {
    await withoutWorker();
    for (const key of [apiKeys.first, apiKeys.second]) {
      const { json } = await api.create({ model, input: 'Hi', background: true }, { key });
      const id = String(json()['id']);
      expect(await admin.post(`/responses/${id}/cancel`)).toMatchObject({
        status: 200,
        body: { object: 'cancelled', id, status: 'cancelled' },
      });
      expect((await api.get(`/v1/responses/${id}`, key)).json()['status']).toBe('cancelled');
    }
    expect(await api.queue.counts(model)).toMatchObject({ waiting: 0 });
  });

  it('ends one that runs, and its caller is told', async () => {
    const { begun } = api.worker.hold();
    const waiting = api.create({ model, input: 'Hi' });
    const { id } = (await begun.wait()).record;
    expect(await admin.post(`/responses/${id}/cancel`)).toMatchObject({ body: { status: 'cancelled' } });
    expect((await waiting).json()['status']).toBe('cancelled');
  });

  it('reads its record once', async () => {
    await withoutWorker();
    const { json } = await api.create({ model, input: 'Hi', background: true });
    const reads = (['read', 'readShort', 'readWhole', 'readSummary'] as const).map((read) =>
      vi.spyOn(api.store, read),
    );
    expect(await admin.post(`/responses/${String(json()['id'])}/cancel`)).toMatchObject({ status: 200 });
    expect(reads.flatMap(({ mock }) => mock.calls)).toHaveLength(1);
  });

  it('leaves one that has ended as it is', async () => {
    const id = await ended({});
    for (let at = 0; at < 2; at += 1) {
      expect(await admin.post(`/responses/${id}/cancel`)).toMatchObject({
        status: 200,
        body: { status: 'completed' },
      });
    }
  });
});

describe('retrying a response', () => {
  it('creates one in the background for the same tenant, with the same request', async () => {
    api.worker.onRun((run) => run.fail('model_error'));
    const asked = {
      input: [{ type: 'message', role: 'user', content: 'Ünïcode 🌊' }],
      instructions: 'Be brief.',
      metadata: { ticket: '7', constructor: 'x', team: 'a' },
      temperature: 0.5,
      stream: true,
      store: true,
      tools: [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }],
    };
    const stream = await api.stream({ model, ...asked }, { key: apiKeys.second });
    await stream.text();
    const first = api.worker.runs[0]?.record;
    api.worker.answer('Now');
    const answer = await admin.post(`/responses/${first?.id}/retry`);
    expect(answer).toMatchObject({ status: 200, body: { object: 'retried', retry_of: first?.id } });
    const id = String(answer.body['id']);
    expect(id).not.toBe(first?.id);
    await eventually(async () => (await api.store.read(id))?.end !== undefined);
    const { stream: _stream, ...request } = { ...(await api.store.read(String(first?.id)))?.request };
    const record = await api.store.read(id);
    expect(record).toMatchObject({ tenant: 'second', status: 'completed', streams: false });
    expect(record?.request).toEqual({ ...request, background: true, store: true });
    expect(given(api.worker.runs.at(-1))).toEqual(given(api.worker.runs[0]));
    expect((await api.get(`/v1/responses/${id}`, apiKeys.second)).json()).toMatchObject({
      metadata: asked.metadata,
      instructions: 'Be brief.',
    });
    expect((await api.get(`/v1/responses/${id}`, apiKeys.first)).status).toBe(404);
    const items = await api.get(`/v1/responses/${id}/input_items`, apiKeys.second);
    expect(JSON.stringify(items.json())).toContain('Ünïcode 🌊');
  });

  it('is told of both: what was made of it, and what it was made of', async () => {
    const id = await ended({});
    const copies = [String((await admin.post(`/responses/${id}/retry`)).body['id'])];
    await eventually(async () => (await detailOf(id)).retried_as.length === 1);
    copies.push(String((await admin.post(`/responses/${id}/retry`)).body['id']));
    await eventually(async () => (await detailOf(id)).retried_as.length === 2);
    expect(await detailOf(id)).toMatchObject({ retry_of: null, retried_as: copies });
    for (const copy of copies) {
      await eventually(async () => (await detailOf(copy)).retry_of === id);
      expect(await detailOf(copy)).toMatchObject({ row: { mode: 'background' }, retried_as: [] });
    }
  });

  it.each([
    ['input', 300_000, 10],
    ['instructions', 10, 300_000],
    ['input and instructions', 200_000, 200_000],
  ])('keeps a large %s', async (_what, inputLength, instructionsLength) => {
    const asked = {
      input: 'ä'.repeat(inputLength),
      instructions: '\u{1F30A}'.repeat(instructionsLength / 2),
    };
    const id = await ended(asked);
    const { body } = await admin.post(`/responses/${id}/retry`);
    await eventually(() => api.worker.runs.length === 2);
    const [first, second] = api.worker.runs;
    expect(second?.record.id).toBe(body['id']);
    expect(given(second)).toEqual(given(first));
    expect(api.bodyBudget.held).toBe(0);
  });

  it('continues from what the first one continued from, tool calls included', async () => {
    const before = await ended({
      input: [
        { type: 'message', role: 'user', content: 'one' },
        { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
      ],
    });
    const id = await ended({
      previous_response_id: before,
      input: [{ type: 'function_call_output', call_id: 'call_1', output: 'two' }],
    });
    await admin.post(`/responses/${id}/retry`);
    await eventually(() => api.worker.runs.length === 3);
    const [, first, second] = api.worker.runs;
    expect(given(second)).toEqual(given(first));
    expect(JSON.stringify(second?.record.request)).toContain('one');
  });

  it('continues from what was in a connection alone, which is in its input by now', async () => {
    const client = await api.connect();
    const idOf = (frames: Record<string, unknown>[]) =>
      String((frames.at(-1)?.['response'] as Record<string, unknown> | undefined)?.['id']);
    const first = idOf(await client.turn({ model, input: 'One', store: false }));
    const second = idOf(await client.turn({ model, input: 'Two', previous_response_id: first }));
    await client.close();
    expect((await admin.post(`/responses/${second}/retry`)).status).toBe(200);
    await eventually(() => api.worker.runs.length === 3);
    expect(given(api.worker.runs[2])).toEqual(given(api.worker.runs[1]));
    expect(given(api.worker.runs[2])).toContain('One');
  });

  it('is refused once what it continues from is gone', async () => {
    const before = await ended({});
    const id = await ended({ previous_response_id: before });
    await api.store.erase(before, 'first');
    expect(await admin.post(`/responses/${id}/retry`)).toMatchObject({
      status: 400,
      body: { error: { code: 'previous_response_not_found' } },
    });
  });

  it('keeps the items that a request referred to, also when they are gone by now', async () => {
    const before = await ended({ input: 'the item' });
    const items = (await api.get(`/v1/responses/${before}/input_items`)).json()['data'] as { id: string }[];
    const id = await ended({ input: [{ type: 'item_reference', id: items[0]?.id }] });
    await api.store.erase(before, 'first');
    expect((await admin.post(`/responses/${id}/retry`)).status).toBe(200);
    await eventually(() => api.worker.runs.length === 3);
    expect(JSON.stringify(api.worker.runs[2]?.record.request)).toContain('the item');
  });

  it('is refused by the limits of the tenant', async () => {
    const id = await ended({}, apiKeys.limited);
    expect((await admin.post(`/responses/${id}/retry`)).status).toBe(200);
    const refused = await admin.post(`/responses/${id}/retry`);
    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'rate_limit_exceeded' } } });
    expect(await admin.audit()).toMatchObject([
      { action: 'response.retry', outcome: 'refused', detail: 'rate_limit_exceeded' },
      { outcome: 'asked' },
      { outcome: 'done' },
      { outcome: 'asked' },
    ]);
  });

  it('is refused while the response is open', async () => {
    await withoutWorker();
    const { json } = await api.create({ model, input: 'Hi', background: true });
    expect(await admin.post(`/responses/${String(json()['id'])}/retry`)).toMatchObject({
      status: 409,
      body: { error: { code: 'not_retryable', param: 'id' } },
    });
  });

  it('is refused when the tenant has no key any more, and when nobody knows that', async () => {
    const id = await ended({}, apiKeys.second);
    const left = api.settings.keys.filter(({ name }) => name !== 'second');
    api.live.replace({ keys: left, limits: api.live.limits, isComplete: true });
    expect(await admin.post(`/responses/${id}/retry`)).toMatchObject({
      status: 409,
      body: { error: { code: 'not_retryable' } },
    });
    api.live.replace({ keys: left, limits: api.live.limits, isComplete: false });
    expect(await admin.post(`/responses/${id}/retry`)).toMatchObject({ status: 503 });
  });

  it('is refused when the tenant may no longer use the model', async () => {
    const id = await ended({});
    const keys = api.settings.keys.map((key) => (key.name === 'first' ? { ...key, models: ['other'] } : key));
    api.live.replace({ keys, limits: api.live.limits, isComplete: true });
    expect(await admin.post(`/responses/${id}/retry`)).toMatchObject({
      status: 403,
      body: { error: { code: 'model_not_allowed' } },
    });
  });

  it('is refused for one that was not to be kept', async () => {
    const { json } = await api.create({ model, input: 'Hi', store: false });
    expect(await admin.post(`/responses/${String(json()['id'])}/retry`)).toMatchObject({ status: 404 });
  });
});

describe('the content of a response', () => {
  it.each([10, 50_000])('is what it was asked and answered, of %i characters', async (length) => {
    const text = '"\\\n\u2028🌊'.repeat(length / 5);
    const id = await ended({ input: text, instructions: `Instructed ${text}` }, apiKeys.second);
    const { status, headers, body } = await admin.ask(`/responses/${id}/content`);
    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('no-store');
    expect(body).toMatchObject({
      object: 'response_content',
      instructions: `Instructed ${text}`,
      input: [{ role: 'user', content: [{ type: 'input_text', text }] }],
      output: [{ type: 'message', content: [{ text: 'Hello' }] }],
      output_text: 'Hello',
    });
    await eventually(() => api.bodyBudget.held === 0);
  });

  it('is there while the response is open', async () => {
    await withoutWorker();
    const { json } = await api.create({ model, input: 'Hi', background: true });
    expect(await admin.ask(`/responses/${String(json()['id'])}/content`)).toMatchObject({
      body: { instructions: null, output: [], output_text: '' },
    });
  });

  it('leaves an entry that says nothing of it', async () => {
    const id = await ended({ input: 'a secret of a tenant', metadata: { m: 'secret metadata' } });
    await admin.ask(`/responses/${id}/content`);
    const entries = await admin.audit();
    expect(entries).toMatchObject([
      { action: 'response.reveal', target: id, outcome: 'done', detail: 'content', asked: entries[1]?.id },
      { action: 'response.reveal', target: id, outcome: 'asked', asked: null, address: '127.0.0.1' },
    ]);
    expect(JSON.stringify(entries)).not.toContain('secret');
    expect(api.logged.join('')).not.toContain('a secret of a tenant');
  });

  it('is refused while nothing more may be held in memory', async () => {
    const id = await ended({ input: 'x'.repeat(100_000) });
    const taken = api.bodyBudget.open('somebody');
    const others = api.bodyBudget.open('others');
    taken.grow(api.live.limits.bodyBytesInFlight / 2);
    others.grow(api.live.limits.bodyBytesInFlight / 2 - 10_000);
    expect(await admin.ask(`/responses/${id}/content`)).toMatchObject({ status: 503 });
    taken.release();
    others.release();
    expect((await admin.ask(`/responses/${id}/content`)).status).toBe(200);
  });
});
