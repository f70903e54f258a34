import { eventually, latch, within } from '@sluice/testing';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { model } from './test-api.ts';

const api = eachTestApi();
let caller: AbortController;

beforeEach(() => {
  caller = new AbortController();
});

const messages = [{ role: 'user', content: 'Hi' }];

/** A synchronous call over a socket that the test can close. */
function ask(path = '/responses'): Promise<Response> {
  return api.fetch(`/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, input: 'Hi' }),
    signal: caller.signal,
  });
}

/** The only response there is, once it has been accepted. */
function theResponse(): Promise<string> {
  return eventually(async () => (await api.redis.client.zrange(api.keys.open, '0', '0'))[0]);
}

async function expectCancelled(responseId: string): Promise<void> {
  await eventually(async () => {
    const { status, json } = await api.get(`/v1/responses/${responseId}`);
    return status === 200 && json()['status'] === 'cancelled';
  });
  await eventually(() => api.open.size === 0);
}

describe('a caller who leaves', () => {
  it('while the response waits in the queue, cancels it before anybody runs it', async () => {
    await api.start({ withoutWorker: true });
    const answer = ask();
    const id = await theResponse();
    caller.abort();
    await expect(answer).rejects.toThrow();
    await expectCancelled(id);
    expect(await api.queue.counts(model)).toMatchObject({ waiting: 0, active: 0 });
  });

  it('while a stream waits in the queue, cancels it before anybody runs it', async () => {
    await api.start({ withoutWorker: true });
    await api.stream({ model, input: 'Hi' }, { signal: caller.signal });
    const id = await theResponse();
    caller.abort();
    await expectCancelled(id);
    expect(await api.queue.counts(model)).toMatchObject({ waiting: 0, active: 0 });
  });

  it.each([
    ['/responses', { input: 'Hi' }],
    ['/chat/completions', { messages }],
    ['/messages', { max_tokens: 100, messages }],
    ['/embeddings', { input: 'Hi' }],
  ])('before the first token of %s, stops the run', async (path, body) => {
    const { begun } = api.worker.hold();
    const asked = api.stream({ model, ...body }, { path, signal: caller.signal });
    asked.catch(() => undefined);
    const run = await begun.wait();
    caller.abort();
    await eventually(() => run.cancelled.aborted);
    // Most of the others are not stored.
    if (path === '/responses') await expectCancelled(run.record.id);
  });

  it('in the middle of a stream, stops the run, and is no error to anybody', async () => {
    const { begun } = api.worker.hold('Hello');
    const response = await api.stream({ model, input: 'Hi' }, { signal: caller.signal });
    const reader = response.body?.getReader();
    const run = await begun.wait();
    await reader?.read();
    caller.abort();
    await eventually(() => run.cancelled.aborted);
    await expectCancelled(run.record.id);
    await eventually(() => api.logged.some((line) => line.includes('caller left')));
    expect(api.logged.filter((line) => /"level":"(error|warn)"/.test(line))).toEqual([]);
  });

  it('while a synchronous call waits, stops the run', async () => {
    const { begun } = api.worker.hold('Hello');
    const answer = ask();
    const run = await begun.wait();
    caller.abort();
    await expect(answer).rejects.toThrow();
    await eventually(() => run.cancelled.aborted);
    await expectCancelled(run.record.id);
  });

  it('after the end, changes nothing', async () => {
    const response = await api.stream({ model, input: 'Hi' }, { signal: caller.signal });
    await response.text();
    caller.abort();
    await eventually(() => api.open.size === 0);
    const id = api.worker.runs[0]?.record.id;
    expect((await api.get(`/v1/responses/${id}`)).json()).toMatchObject({ status: 'completed' });
  });

  it('of a response in the background, does not end it', async () => {
    const { begun, goOn } = api.worker.hold('Hello');
    await api.stream({ model, input: 'Hi', background: true }, { signal: caller.signal });
    await begun.wait();
    caller.abort();
    await eventually(() => api.open.size === 0);
    goOn.open();
    const id = api.worker.runs[0]?.record.id;
    await eventually(async () => (await api.get(`/v1/responses/${id}`)).json()['status'] === 'completed');
  });
});

describe('a caller who leaves while its body is read', () => {
  it.each(['/responses', '/responses/compact', '/responses/input_tokens', '/messages/count_tokens'])(
    'of %s leaves nothing of it behind, and is counted',
    async (path) => {
      const [reading, goOn] = [latch(), latch()];
      const prepare = api.json.prepare.bind(api.json);
      vi.spyOn(api.json, 'prepare').mockImplementation(async (...body) => {
        reading.open();
        await goOn.wait();
        return prepare(...body);
      });
      const over = latch<object>();
      api.telemetry.on('request.answered', (fact) => over.open(fact));
      const answer = ask(path);
      await reading.wait();
      expect(api.bodyBudget.held).toBeGreaterThan(0);
      caller.abort();
      await expect(answer).rejects.toThrow();
      expect(await within(over.wait())).toMatchObject({ route: `/v1${path}`, method: 'POST', status: 499 });
      goOn.open();
      await eventually(() => api.bodyBudget.held === 0 && api.open.size === 0);
      expect(await api.redis.client.zcard(api.keys.open)).toBe(0);
    },
  );
});
