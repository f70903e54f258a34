import { eventually, type RedisProxy, readSse, startRedisProxy, testRedis } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { startableTestApi } from './kept-api.ts';
import { type Answer, model } from './test-api.ts';

const api = startableTestApi();
const proxies: RedisProxy[] = [];

async function proxy(options?: { delayMs: number }): Promise<RedisProxy> {
  const started = await startRedisProxy(inject('redisUrl'), options);
  proxies.push(started);
  return started;
}

afterEach(async () => {
  await api.stop();
  await Promise.all(proxies.splice(0).map((each) => each.stop()));
});

const shortInput = 'lose me';
const longInput = `lose me ${'x'.repeat(100_000)}`;

describe('a reply that is lost with its connection', () => {
  let commands: RedisProxy;

  beforeEach(async () => {
    commands = await proxy();
    await api.start({ commandsUrl: commands.url });
    // Scripts are known to the server from here on.
    expect((await api.create({ model, input: 'Hi' })).status).toBe(200);
  });

  /** Every run so far, by its input. */
  const runs = () => api.worker.runs.map(({ record }) => JSON.stringify(record.request.input));

  it.each([
    ['the accept', () => shortInput, shortInput],
    ['the accept behind its input', () => '"model":"m"', longInput],
    ['the adding of the job', () => `bull:${model}:prioritized`, shortInput],
  ])('is asked for again when it was that to %s', async (_what, text, input) => {
    commands.loseReplyTo(text());
    const whole = await api.create({ model, input });
    expect(commands.lost).toBe(1);
    expect(whole.status).toBe(200);
    expect(whole.json()).toMatchObject({ status: 'completed', output_text: 'Hello' });

    commands.loseReplyTo(text());
    const background = await api.create({ model, input, background: true });
    expect(background.status).toBe(200);
    const { id } = background.json() as { id: string };
    await eventually(async () => (await api.get(`/v1/responses/${id}`)).json()['status'] === 'completed');

    commands.loseReplyTo(text());
    const streamed = await api.stream({ model, input });
    expect(streamed.status).toBe(200);
    const { events } = await readSse(streamed.body ?? '');
    expect(events.at(-1)).toMatchObject({ type: 'response.completed' });

    expect(commands.lost).toBe(3);
    expect(runs()).toHaveLength(4);
  });

  it('refuses nobody and cuts no stream when it was that to a look at long instructions, behind their accept', async () => {
    const long = { model, input: 'Hi', instructions: 'x'.repeat(100_000) };
    const look = 'traceparent';
    commands.loseReplyTo(look);
    const background = await api.create({ ...long, background: true });
    expect(background.status).toBe(200);
    expect(background.json()['instructions']).toHaveLength(100_000);
    // It has them in hand.
    expect(commands.lost).toBe(0);

    const whole = await api.create(long);
    expect(commands.lost).toBe(1);
    expect(whole.status).toBe(200);
    expect(whole.json()['instructions']).toHaveLength(100_000);

    commands.loseReplyTo(look);
    const streamed = await api.stream(long);
    const { events } = await readSse(streamed.body ?? '');
    expect(events.at(-1)).toMatchObject({ type: 'response.completed' });
    expect(commands.lost).toBe(2);
  });
});

describe('a store that is out of reach for longer than a request may wait', () => {
  it('makes a refused response run at worst until it is back, and counts it', async () => {
    const commands = await proxy();
    await api.start({ commandsUrl: commands.url });
    const { begun } = api.worker.hold();
    commands.loseReplyTo(`bull:${model}:prioritized`);
    const answer = api.create({ model, input: 'Hi' });
    await eventually(() => commands.lost === 1);
    commands.silence();
    expect((await answer).status).toBe(503);
    const run = await begun.wait();
    expect(run.cancelled.aborted).toBe(false);
    commands.speak();
    await eventually(() => run.cancelled.aborted);
    const counted = async (labels: string) => {
      const metrics = await api.registry.metrics();
      return metrics.includes(`sluice_refused_but_accepted_total{begun="${labels}",role="api"} 1`);
    };
    await eventually(() => counted('yes'));
    expect(await counted('no')).toBe(false);
  });
});

describe('a subscription that is cut again and again', () => {
  it('ends no caller that waits', async () => {
    const [commands, subscriber] = [await proxy({ delayMs: 5 }), await proxy({ delayMs: 5 })];
    await api.start({ commandsUrl: commands.url, subscriberUrl: subscriber.url });
    const store = await testRedis(commands.url);
    const answers: Promise<Answer>[] = [];
    const waiting = new Set<Promise<Answer>>();
    for (let at = 0; at < 320; at += 1) {
      // On a busy machine more of them at once would be refused, because their accepts come too late.
      while (waiting.size >= 32) await Promise.race(waiting);
      // A long input goes ahead of its accept, so that there is a time in which its caller waits and nothing is accepted.
      const answer = api.create({ model, input: at % 4 === 0 ? shortInput : longInput, store: at % 2 === 0 });
      answers.push(answer);
      waiting.add(answer);
      void answer.finally(() => waiting.delete(answer));
      // About as often as a subscription is restored.
      if (at % 25 === 24) subscriber.cut();
      // Callers come evenly, one with each answer of the store, so that some come at the moment at which the subscription is back.
      await store.client.ping();
    }
    await store.close();
    // A starved machine refuses some, whose accepts come too late. They have no response to wait for.
    const waited = (await Promise.all(answers)).filter(
      ({ status, headers }) => status !== 503 || headers['x-sluice-response-id'] !== undefined,
    );
    expect(waited.length).toBeGreaterThan(160);
    expect(waited.map(({ status }) => status)).toEqual(waited.map(() => 200));
  });
});
