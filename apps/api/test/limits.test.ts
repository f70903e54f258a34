import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import { eventually } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { startableTestApi } from './kept-api.ts';
import { type Answer, apiKeys, model } from './test-api.ts';

const api = startableTestApi();

const ask = (key?: string, more: object = {}) =>
  api.create({ model, input: 'Hi', ...more }, key === undefined ? {} : { key });

/** What clients of a refused request rely on. */
function expectTimeToComeBack({ headers }: Answer) {
  const seconds = Number(headers['retry-after']);
  const milliseconds = Number(headers['retry-after-ms']);
  expect(Number.isInteger(seconds) && seconds >= 1).toBe(true);
  expect(Number.isInteger(milliseconds) && milliseconds >= 1).toBe(true);
  expect(Math.ceil(milliseconds / 1000)).toBe(seconds);
}

describe('a store that is nearly full', () => {
  it('takes nothing new, says when to come back, and goes on with what it has', async () => {
    await api.start({ withoutWorker: true });
    const { id } = (await ask(undefined, { background: true })).json() as { id: string };
    api.memory.usedPercent = 80;
    const refused = await ask();
    expect(refused.status).toBe(503);
    expectTimeToComeBack(refused);
    expect(refused.headers['retry-after']).toBe('5');
    expect(refused.json()).toMatchObject({ error: { code: 'server_is_overloaded' } });
    expect((await api.get(`/v1/responses/${id}`)).status).toBe(200);
    api.live.replace({ keys: api.settings.keys, limits: { ...api.settings.limits, redisMemoryPercent: 90 } });
    expect((await ask(undefined, { background: true })).status).toBe(200);
  });
});

describe('a budget', () => {
  const key = apiKeys.budgeted;
  const background = { background: true };

  it('refuses what may take more than is left, and says how much that is and when it begins anew', async () => {
    await api.start({ withoutWorker: true });
    const { id } = (await ask(key, { ...background, max_output_tokens: 200 })).json() as { id: string };
    const refused = await ask(key, { max_output_tokens: 200 });
    expect(refused.status).toBe(429);
    expect(refused.headers).toMatchObject({ 'x-should-retry': 'false' });
    expect(refused.headers).not.toHaveProperty('retry-after');
    expect(refused.json()).toMatchObject({
      error: {
        type: 'insufficient_quota',
        code: 'insufficient_quota',
        message: expect.stringMatching(
          /^The account may take 300 tokens a day\. \d\d tokens are left, .* The next day begins at \d{4}-\d\d-\d\dT00:00:00Z\.$/,
        ),
      },
    });
    const messages = [{ role: 'user', content: 'Hi' }];
    const chat = { model, messages, max_completion_tokens: 200 };
    const atOtherDoor = await api.create(chat, { key, path: '/chat/completions' });
    expect(atOtherDoor.json()).toMatchObject({ error: { code: 'insufficient_quota' } });
    expect((await api.create({ ...chat, max_tokens: 200 }, { key, path: '/messages' })).status).toBe(429);
    // A response that never ran gives its tokens back.
    await api.create({}, { key, path: `/responses/${id}/cancel` });
    expect((await ask(key, { ...background, max_output_tokens: 200 })).status).toBe(200);
  });

  it('of money goes by the price of the model, for the key alone where it is the key’s', async () => {
    await api.start({ withoutWorker: true });
    // 260 of output are 0.0104.
    const refused = await ask(key, { ...background, model: 'other', max_output_tokens: 260 });
    expect(refused.json()).toMatchObject({
      error: {
        code: 'insufficient_quota',
        message: expect.stringMatching(
          /^The key may take 0\.01 USD a month\. 0\.01 USD are left, .* The next month begins at \d{4}-\d\d-01T/,
        ),
      },
    });
    expect((await ask(key, { ...background, model: 'other', max_output_tokens: 200 })).status).toBe(200);
  });
});

describe('a limit of reads a minute', () => {
  it('refuses every request over it that creates nothing, and says when to come back', async () => {
    await api.start({ withoutWorker: true });
    const key = apiKeys.reader;
    const { id } = (await ask(key, { background: true })).json() as { id: string };
    for (const url of [`/v1/responses/${id}`, '/v1/models', '/api/v1/responses']) {
      expect((await api.get(url, key)).status).toBe(200);
    }
    const reads = ['/v1/responses', `/v1/responses/${id}`, `/v1/responses/${id}?stream=true`, '/v1/models'];
    const refused = await Promise.all(reads.map((url) => api.get(url, key)));
    for (const answer of refused) {
      expect(answer.status).toBe(429);
      expectTimeToComeBack(answer);
      expect(answer.json()).toMatchObject({
        error: { code: 'rate_limit_exceeded', message: expect.stringContaining('3 reads per minute') },
      });
    }
    const headers = { authorization: `Bearer ${key}` };
    const erased = await api.app.inject({ method: 'DELETE', url: `/v1/responses/${id}`, headers });
    const cancelled = await api.app.inject({ method: 'POST', url: `/v1/responses/${id}/cancel`, headers });
    expect([erased.statusCode, cancelled.statusCode]).toEqual([429, 429]);
  });

  it('counts what is sent again with its Idempotency-Key, and brings no answer over it', async () => {
    await api.start();
    const options = { key: apiKeys.reader, headers: { 'idempotency-key': 'again' } };
    const send = () => api.create({ model, input: 'Hi' }, options);
    const { id } = (await send()).json() as { id: string };
    for (let at = 0; at < 3; at += 1) expect((await send()).json()).toMatchObject({ id });
    const refused = await send();
    expect(refused.status).toBe(429);
    expectTimeToComeBack(refused);
    expect(refused.json()).toMatchObject({
      error: { message: expect.stringContaining('3 reads per minute') },
    });
    expect((await api.get('/v1/models', apiKeys.reader)).status).toBe(429);
    expect((await ask(apiKeys.reader)).status).toBe(200);
  });

  it('leaves creating alone, and the neighbours', async () => {
    await api.start();
    for (let at = 0; at < 4; at += 1) await api.get('/v1/models', apiKeys.reader);
    expect((await api.get('/v1/models', apiKeys.reader)).status).toBe(429);
    expect((await ask(apiKeys.reader)).status).toBe(200);
    expect((await api.get('/v1/models')).status).toBe(200);
  });
});

describe('requests that stay open', () => {
  it('are half of all for a tenant, and the others are served', async () => {
    await api.start({ withoutWorker: true, mostCallers: 4 });
    const { id } = (await ask(undefined, { background: true, stream: false })).json() as { id: string };
    const left = new AbortController();
    const read = (path = `/${id}?stream=true`, key = apiKeys.first) =>
      api.fetch(`/v1/responses${path}`, { headers: { authorization: `Bearer ${key}` }, signal: left.signal });
    const open = await Promise.all([read(), read()]);
    expect(open.map(({ status }) => status)).toEqual([200, 200]);
    const refused = await read();
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('1');
    await refused.body?.cancel();
    expect((await read('', apiKeys.reader)).status).toBe(200);
    left.abort();
    await eventually(async () => (await api.get(`/v1/responses/${id}`)).status === 200);
  });
});

describe('a limit of requests a minute', () => {
  it('is counted down in the headers of every create', async () => {
    await api.start();
    const first = await ask(apiKeys.limited);
    const second = await ask(apiKeys.limited);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(first.headers).toMatchObject({
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '1',
      'x-ratelimit-reset-requests': expect.stringMatching(/^(\d+ms|(\d+m)?\d+(\.\d+)?s)$/),
    });
    expect(second.headers['x-ratelimit-remaining-requests']).toBe('0');
  });

  it('is told with a response that failed, too', async () => {
    await api.start();
    api.worker.onRun((run) => run.fail('model_error'));
    const failed = await ask(apiKeys.limited);
    expect(failed.status).toBe(500);
    expect(failed.headers['x-ratelimit-remaining-requests']).toBe('1');
  });

  it('refuses what is over it with 429 and says when to come back', async () => {
    await api.start();
    await ask(apiKeys.limited);
    await ask(apiKeys.limited);
    const refused = await ask(apiKeys.limited);
    expect(refused.status).toBe(429);
    expectTimeToComeBack(refused);
    expect(refused.headers).toMatchObject({
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '0',
    });
    const { error } = refused.json() as { error: { message: string } };
    expect(error).toMatchObject({ type: 'too_many_requests', code: 'rate_limit_exceeded', param: null });
    const seconds = Number(/Please try again in (\d+(?:\.\d+)?)s\.$/.exec(error.message)?.[1]);
    // A client that obeys the text must not come too early.
    expect(seconds * 1000).toBeGreaterThanOrEqual(Number(refused.headers['retry-after-ms']));
  });

  it('refuses a stream in plain JSON', async () => {
    await api.start();
    await ask(apiKeys.limited);
    await ask(apiKeys.limited);
    const response = await api.stream({ model, input: 'Hi' }, { key: apiKeys.limited });
    expect(response.status).toBe(429);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    await response.text();
  });

  it('is not used up by requests that are refused for another reason', async () => {
    await api.start();
    await ask(apiKeys.limited, { temperature: 9 });
    await ask(apiKeys.limited, { model: 'nope' });
    await api.create('{', { key: apiKeys.limited });
    const taken = await ask(apiKeys.limited);
    expect(taken.headers['x-ratelimit-remaining-requests']).toBe('1');
  });

  it('leaves nothing of a refused request in the store, and runs nothing', async () => {
    await api.start();
    await ask(apiKeys.limited);
    await ask(apiKeys.limited);
    // The answers come before the queue has heard that the jobs are done.
    await eventually(async () => (await api.queue.counts(model)).completed === 2);
    const before = await api.stored();
    await Promise.all(Array.from({ length: 10 }, () => ask(apiKeys.limited, { input: 'x'.repeat(100_000) })));
    expect(await api.stored()).toEqual(before);
    expect(api.worker.runs).toHaveLength(2);
  });

  it('is exact for requests that come at once', async () => {
    await api.start();
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask(apiKeys.limited)));
    const taken = answers.filter(({ status }) => status === 200);
    const remaining = taken.map(({ headers }) => Number(headers['x-ratelimit-remaining-requests']));
    expect(remaining.toSorted((one, other) => one - other)).toEqual([0, 1]);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(10);
  });

  it('does not concern another tenant', async () => {
    await api.start();
    await Promise.all(Array.from({ length: 3 }, () => ask(apiKeys.limited)));
    const other = await ask(apiKeys.second);
    expect(other.status).toBe(200);
    expect(Object.keys(other.headers).filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
  });

  it('does not count reads', async () => {
    await api.start();
    for (let read = 0; read < 5; read += 1) {
      expect((await api.get('/v1/models', apiKeys.limited)).status).toBe(200);
    }
  });
});

describe('a queue that is full', () => {
  it('for the tenant answers 429, and others are let in', async () => {
    await api.start({ withoutWorker: true });
    const waiting = { background: true };
    expect((await ask(apiKeys.short, waiting)).status).toBe(200);
    const before = await api.stored();
    const refused = await ask(apiKeys.short, waiting);
    expect(refused.status).toBe(429);
    expectTimeToComeBack(refused);
    expect(refused.json()).toMatchObject({
      error: {
        code: 'rate_limit_exceeded',
        message: expect.stringMatching(/Please try again in [\d.]+s\.$/),
      },
    });
    expect(await api.stored()).toEqual(before);
    expect((await ask(apiKeys.second, waiting)).status).toBe(200);
  });

  it('for everybody answers 503', async () => {
    await api.start({ withoutWorker: true, queued: 2 });
    const waiting = { background: true };
    await ask(apiKeys.first, waiting);
    await ask(apiKeys.second, waiting);
    const before = await api.stored();
    const refused = await ask(apiKeys.limited, waiting);
    expect(refused.status).toBe(503);
    expectTimeToComeBack(refused);
    expect(refused.json()).toMatchObject({ error: { code: 'server_is_overloaded', type: 'server_error' } });
    expect(await api.stored()).toEqual(before);
  });
});

describe('bodies that arrive at once', () => {
  const bodyBytes = 100_000;

  it('may be as large as the settings say by then', async () => {
    await api.start({ bodyBytes });
    const large = { input: 'x'.repeat(bodyBytes) };
    expect((await api.create({ model, ...large })).status).toBe(413);
    const { keys, limits } = api.settings;
    api.live.replace({ keys, limits: { ...limits, bodyBytes: 2 * bodyBytes } });
    expect((await api.create({ model, ...large })).status).toBe(200);
  });

  /** Begins a request and sends none of its body, of which it announces so much. */
  async function begin(key: string, length: number): Promise<ClientRequest> {
    const { port } = new URL(await api.listen());
    const begun = request({ port, method: 'POST', path: '/v1/responses', headers: headersOf(key, length) });
    begun.on('error', () => undefined);
    begun.flushHeaders();
    return begun;
  }

  const headersOf = (key: string, length: number) => ({
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': length,
  });

  it('are refused with 429 where a tenant has its half, and with 503 where there is no room', async () => {
    await api.start({ bodyBytes, bodyBytesInFlight: 2 * bodyBytes });
    const first = await begin(apiKeys.first, bodyBytes);
    await eventually(() => api.bodyBudget.held === bodyBytes);
    const over = await ask(apiKeys.first);
    expect(over.status).toBe(429);
    expectTimeToComeBack(over);
    expect(over.json()).toMatchObject({
      error: { code: 'rate_limit_exceeded', message: expect.stringMatching(/Please try again in 1s\.$/) },
    });
    expect((await ask(apiKeys.second)).status).toBe(200);

    const second = await begin(apiKeys.second, bodyBytes);
    await eventually(() => api.bodyBudget.held === 2 * bodyBytes);
    const full = await ask(apiKeys.limited);
    expect(full.status).toBe(503);
    expectTimeToComeBack(full);
    expect(full.json()).toMatchObject({ error: { code: 'server_is_overloaded' } });

    first.destroy();
    second.destroy();
    await eventually(() => api.bodyBudget.held === 0);
    expect((await ask(apiKeys.first)).status).toBe(200);
  });

  it('are given back when their accept is over, while their callers wait', async () => {
    await api.start({ bodyBytes });
    const { begun, goOn } = api.worker.hold();
    const answer = ask();
    await begun.wait();
    await eventually(() => api.bodyBudget.held === 0);
    goOn.open();
    expect((await answer).status).toBe(200);
  });

  it('are given back when they are refused', async () => {
    await api.start({ bodyBytes });
    await api.create('{"model":');
    await api.create('x'.repeat(90_000));
    await api.create('x'.repeat(bodyBytes + 1));
    expect(api.bodyBudget.held).toBe(0);
  });

  it('of nobody with a key are not held, nor those of a path that takes none', async () => {
    await api.start({ bodyBytes });
    const bare = await begin('sk-wrong', bodyBytes);
    const { port } = new URL(await api.listen());
    const headers = headersOf(apiKeys.first, bodyBytes);
    const lost = request({ port, method: 'POST', path: '/v1/nope', headers });
    lost.on('error', () => undefined);
    lost.flushHeaders();
    const answers = await Promise.all([bare, lost].map((each) => once(each, 'response')));
    expect(answers.map(([{ statusCode }]) => statusCode)).toEqual([401, 404]);
    expect(api.bodyBudget.held).toBe(0);
    for (const each of [bare, lost]) each.destroy();
  });
});
