import { checkEventGrammar, eventually, readSse } from '@sluice/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { oneTestApi } from './kept-api.ts';
import { model } from './test-api.ts';

// The api lives, and its lease has lapsed: workers take its callers for gone after some seconds.
const api = oneTestApi({ withoutLease: true });
beforeAll(() => void api.worker.hold('Half an answer'));

describe('a caller who is still there when its response is ended as one that nobody waits for', () => {
  it('is told to come back, and not that it cancelled, or reads a failure at the end of its stream', async () => {
    const [answer, response] = await Promise.all([
      api.create({ model, input: 'Hi' }),
      api.stream({ model, input: 'Hi' }),
    ]);
    expect(answer.status).toBe(503);
    expect(answer.json()).toMatchObject({
      error: {
        code: 'server_is_overloaded',
        type: 'server_error',
        message: expect.stringContaining('lost touch'),
      },
    });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(answer.headers['x-should-retry']).toBeUndefined();
    const { events, done, problems } = await readSse(await response.text());
    expect({ done, problems, grammar: checkEventGrammar(events) }).toEqual({
      done: true,
      problems: [],
      grammar: [],
    });
    expect(events.slice(-2)).toMatchObject([
      { type: 'error', code: 'server_is_overloaded', error: { code: 'server_is_overloaded' } },
      { type: 'response.failed', response: { status: 'failed', error: { code: 'server_is_overloaded' } } },
    ]);
  });

  it('is told that it is cancelled if somebody cancelled it', async () => {
    const answer = api.create({ model, input: 'Hi' });
    const id = await eventually(async () => (await api.redis.client.zrange(api.keys.open, '0', '0'))[0]);
    await api.create({}, { path: `/responses/${id}/cancel` });
    expect((await answer).status).toBe(200);
    expect((await answer).json()).toMatchObject({ status: 'cancelled' });
  });
});
