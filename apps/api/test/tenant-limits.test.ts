import { eventually, type Latch, latch } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { startableTestApi } from './kept-api.ts';
import { type Answer, apiKeys, model } from './test-api.ts';

const api = startableTestApi();

const ask = (key: string, more: object = {}) => api.create({ model, input: 'Hi', ...more }, { key });

function errorOf(answer: Answer) {
  return (answer.json() as { error: { code: string; param: string | null; message: string } }).error;
}

describe('a limit of tokens a minute', () => {
  it('is counted down by what a response may take, and then by what it took', async () => {
    await api.start();
    const first = await ask(apiKeys.tokens, { max_output_tokens: 400 });
    expect(first.status).toBe(200);
    const left = Number(first.headers['x-ratelimit-remaining-tokens']);
    expect(left).toBeGreaterThan(580);
    expect(left).toBeLessThan(600);
    expect(first.headers).toMatchObject({
      'x-ratelimit-limit-tokens': '1000',
      'x-ratelimit-reset-tokens': expect.stringMatching(/^(\d+ms|(\d+m)?\d+(\.\d+)?s)$/),
    });
    expect(first.headers).not.toHaveProperty('x-ratelimit-limit-requests');
    // It took five.
    const second = await ask(apiKeys.tokens, { max_output_tokens: 400 });
    expect(Number(second.headers['x-ratelimit-remaining-tokens'])).toBe(left - 5);
  });

  it('refuses with 429 what does not fit, and says when it will', async () => {
    await api.start();
    api.worker.onRun((run) => run.hang());
    const taken = await ask(apiKeys.tokens, { max_output_tokens: 700, background: true });
    expect(taken.status).toBe(200);
    const refused = await ask(apiKeys.tokens, { max_output_tokens: 400 });
    expect(refused.status).toBe(429);
    expect(errorOf(refused)).toMatchObject({ code: 'rate_limit_exceeded' });
    expect(errorOf(refused).message).toMatch(/1000 tokens per minute\. Please try again in \d+(\.\d)?s\.$/);
    const seconds = Number(refused.headers['retry-after']);
    expect(seconds).toBeGreaterThan(50);
    expect(seconds).toBeLessThanOrEqual(60);
    // Cancelled without output: nothing was taken.
    const { id } = taken.json() as { id: string };
    await api.create({}, { key: apiKeys.tokens, path: `/responses/${id}/cancel` });
    const again = await ask(apiKeys.tokens, { max_output_tokens: 400, background: true });
    expect(again.status).toBe(200);
  });

  it('tells a request that asks for more than a minute has that waiting is no use', async () => {
    await api.start();
    const refused = await ask(apiKeys.tokens, { max_output_tokens: 2_000 });
    expect(refused.status).toBe(429);
    expect(refused.headers).toMatchObject({ 'x-should-retry': 'false' });
    expect(refused.headers).not.toHaveProperty('retry-after');
    expect(refused.headers).not.toHaveProperty('retry-after-ms');
    expect(errorOf(refused).message).toContain("'max_output_tokens'");
    expect((await ask(apiKeys.tokens, { max_output_tokens: 16 })).headers).toMatchObject({
      'x-ratelimit-remaining-tokens': expect.stringMatching(/^9\d\d$/),
    });
  });
});

describe('a limit of what runs at a time', () => {
  it('makes further responses wait in their order, and refuses none', async () => {
    await api.start();
    const gates = new Map<string, Latch>();
    const started: string[] = [];
    let most = 0;
    let running = 0;
    api.worker.onRun(async (run) => {
      const name = String(run.record.request.user);
      const gate = latch();
      gates.set(name, gate);
      started.push(name);
      running += 1;
      most = Math.max(most, running);
      await gate.wait();
      running -= 1;
      run.say(name);
      await run.complete();
    });
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const answers: Promise<Answer>[] = [];
    for (const [at, user] of names.entries()) {
      if (at % 2 === 0) answers.push(ask(apiKeys.crowded, { user }));
      else answers.push(ask(apiKeys.crowded, { user, background: true }));
      // Accepted before the next one is.
      await eventually(async () => {
        const { waiting, delayed, active } = await api.queue.counts(model);
        return waiting + delayed + active === at + 1;
      });
    }
    await eventually(() => started.length === 2);
    // The dashboard shows them, and another tenant does not wait.
    await eventually(async () => (await api.queue.counts(model)).delayed === 4);
    const other = ask(apiKeys.first, { user: 'other' });
    await eventually(() => started.includes('other'));
    gates.get('other')?.open();
    expect((await other).status).toBe(200);
    for (let at = 0; at < names.length; at += 1) {
      const name = names[at] ?? '';
      await eventually(() => gates.has(name));
      gates.get(name)?.open();
      // Each end lets one in.
      await eventually(() => started.length === Math.min(at + 4, names.length + 1));
    }
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(names.map(() => 200));
    expect(started.filter((name) => name !== 'other')).toEqual(names);
    expect(most).toBeLessThanOrEqual(3);
  });

  it('lets the next one in when one is cancelled', async () => {
    await api.start();
    const started: string[] = [];
    api.worker.onRun((run) => {
      started.push(String(run.record.request.user));
      return run.hang();
    });
    const ids: string[] = [];
    for (const user of ['a', 'b', 'c', 'd']) {
      const answer = await ask(apiKeys.crowded, { user, background: true });
      ids.push((answer.json() as { id: string }).id);
    }
    await eventually(() => started.length === 2);
    const cancel = (id: string | undefined) =>
      api.create({}, { key: apiKeys.crowded, path: `/responses/${id}/cancel` });
    // One that waits in the line, and one that runs.
    await cancel(ids[2]);
    await cancel(ids[0]);
    await eventually(() => started.length === 3);
    expect(started.toSorted()).toEqual(['a', 'b', 'd']);
  });
});

describe('limits of one request', () => {
  it('refuse more output than the tenant or the model may have, and name the member', async () => {
    await api.start();
    for (const [key, asked, more] of [
      [apiKeys.capped, 51, {}],
      [apiKeys.first, 91, { model: 'small' }],
      [apiKeys.capped, 51, { model: 'small' }],
    ] as const) {
      const refused = await ask(key, { max_output_tokens: asked, ...more });
      expect(refused.status).toBe(400);
      expect(errorOf(refused)).toMatchObject({
        code: 'integer_above_max_value',
        param: 'max_output_tokens',
      });
    }
    expect((await ask(apiKeys.capped, { max_output_tokens: 50 })).status).toBe(200);
  });

  it('are told to the upstream where the request names none', async () => {
    await api.start();
    await ask(apiKeys.capped);
    await ask(apiKeys.first, { model: 'small' });
    await ask(apiKeys.capped, { model: 'small', max_output_tokens: 20 });
    await ask(apiKeys.first);
    const asked = api.worker.runs.map(({ record }) => record.request.max_output_tokens);
    expect(asked).toEqual([50, 90, 20, undefined]);
  });

  it('refuse an input that the context cannot hold', async () => {
    await api.start();
    const refused = await ask(apiKeys.first, { model: 'small', input: 'word '.repeat(100) });
    expect(refused.status).toBe(400);
    expect(errorOf(refused)).toMatchObject({ code: 'context_length_exceeded', param: 'input' });
    const first = await ask(apiKeys.first, { model: 'small', input: 'word '.repeat(60) });
    expect(first.status).toBe(200);
    const { id } = first.json() as { id: string };
    // Five tokens were counted by the upstream, so the second input fits as well.
    const next = await ask(apiKeys.first, {
      model: 'small',
      input: 'word '.repeat(60),
      previous_response_id: id,
    });
    expect(next.status).toBe(200);
  });

  it('leave out the oldest items of an input that the context cannot hold, where the client wants that', async () => {
    await api.start();
    const words = 'word '.repeat(60);
    const first = await ask(apiKeys.first, {
      model: 'small',
      truncation: 'auto',
      input: [
        { role: 'developer', content: 'Be kind.' },
        { role: 'user', content: `old ${words}` },
        { role: 'user', content: words },
      ],
    });
    expect(first.status, first.text).toBe(200);
    const given = () => api.worker.runs.at(-1)?.record.request.input;
    expect(given()).toMatchObject([{ content: 'Be kind.' }, { content: words }]);
    const { id: previous_response_id } = first.json() as { id: string };
    const next = { model: 'small', truncation: 'auto', input: words, previous_response_id };
    expect((await ask(apiKeys.first, next)).status).toBe(200);
    expect(given()).toMatchObject([
      { content: 'Be kind.' },
      { role: 'assistant' },
      { content: [{ text: words }] },
    ]);
    const tooLong = await ask(apiKeys.first, { ...next, input: 'word '.repeat(100) });
    expect(tooLong.status).toBe(400);
    expect(errorOf(tooLong)).toMatchObject({ code: 'context_length_exceeded', param: 'input' });
  });

  it('reserve no more tokens for a truncated input than the context holds', async () => {
    await api.start();
    // A thousand tokens a minute: the input alone has twice as many.
    const answer = await ask(apiKeys.tokens, {
      model: 'small',
      truncation: 'auto',
      input: [
        { role: 'user', content: 'x'.repeat(8_000) },
        { role: 'user', content: 'Hi' },
      ],
    });
    expect(answer.status, answer.text).toBe(200);
  });

  it('refuse requests of a tenant whose waiting ones take too many bytes', async () => {
    await api.start({ withoutWorker: true });
    const refused = await ask(apiKeys.capped, { background: true, input: 'x'.repeat(2_000) });
    expect(refused.status).toBe(429);
    expect(errorOf(refused).message).toContain('waiting');
    expect((await ask(apiKeys.capped, { background: true })).status).toBe(200);
    expect((await ask(apiKeys.capped, { background: true })).status).toBe(429);
    expect((await ask(apiKeys.first, { background: true, input: 'x'.repeat(2_000) })).status).toBe(200);
  });
});
