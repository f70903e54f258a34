import { eventually, readSse } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { startableTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';

const api = startableTestApi();

const background = async (key = apiKeys.first) => {
  const answer = await api.create({ model, input: 'Hi', background: true }, { key });
  expect(answer.status).toBe(200);
  return { body: answer.json() as { id: string; queue_position?: number }, headers: answer.headers };
};

describe('a response that waits', () => {
  it('has its position in the acceptance and in GET, as members and as headers', async () => {
    await api.start({ withoutWorker: true });
    for (let at = 1; at <= 3; at += 1) {
      const { body, headers } = await background();
      expect(body.queue_position).toBe(at);
      expect(body).toMatchObject({ estimated_start_at: null });
      expect(headers['x-sluice-queue-position']).toBe(String(at));
      const read = await api.get(`/v1/responses/${body.id}`);
      expect(read.json()).toMatchObject({ status: 'queued', queue_position: at });
      expect(read.headers['x-sluice-queue-position']).toBe(String(at));
    }
    // Somebody who asks for little goes before the backlog of another, who then has to wait a little longer.
    const { body: mine } = await background(apiKeys.second);
    expect(mine.queue_position).toBeLessThanOrEqual(2);
  });

  it('has none once it is gone on', async () => {
    await api.start();
    const { body } = await background();
    await eventually(
      async () => (await api.get(`/v1/responses/${body.id}`)).json()['status'] === 'completed',
    );
    const read = await api.get(`/v1/responses/${body.id}`);
    expect(read.json()).not.toHaveProperty('queue_position');
    expect(read.headers).not.toHaveProperty('x-sluice-queue-position');
  });

  it('is told when it will probably start, as soon as anybody can tell', async () => {
    await api.start();
    const { goOn } = api.worker.hold();
    const { client } = api.redis;
    // As if twenty a second had come and gone.
    const gone = setInterval(() => void client.incrby(`${api.keys.prefix}bull:${model}:id`, 2), 100);
    try {
      const ids: string[] = [];
      // More than there are slots.
      for (let at = 0; at < 40; at += 1) ids.push((await background()).body.id);
      await eventually(async () => {
        const read = (await api.get(`/v1/responses/${ids.at(-1)}`)).json();
        const startAt = Number(read['estimated_start_at'] ?? 0);
        const now = Date.now() / 1000;
        return read['queue_position'] !== undefined && startAt >= now - 1 && startAt < now + 30;
      });
      const read = await api.get(`/v1/responses/${ids.at(-1)}`);
      expect(Number(read.headers['x-sluice-starts-in-seconds'])).toBeGreaterThanOrEqual(0);
    } finally {
      clearInterval(gone);
      goOn.open();
    }
  });

  it('says so in comments of its stream, which no client takes for an event', async () => {
    await api.start();
    const { goOn } = api.worker.hold();
    // More than there are slots.
    for (let at = 0; at < 40; at += 1) await background();
    const response = await api.stream({ model, input: 'Hi' }, { key: apiKeys.second });
    const reader = response.body?.getReader();
    let text = '';
    await eventually(async () => {
      text += Buffer.from((await reader?.read())?.value ?? '').toString();
      return /^: queued, position \d+/m.test(text);
    });
    goOn.open();
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) break;
      text += Buffer.from(value ?? '').toString();
    }
    expect(text).toMatch(/^: queued, position 1(, starts in about \d+s)?$/m);
    const { events } = await readSse(new Response(text).body ?? '');
    expect(events.at(-1)).toMatchObject({ type: 'response.completed' });
    expect(events.map((event) => (event as { type: string }).type)).not.toContain(undefined);
  });
});
