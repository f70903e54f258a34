import { describe, expect, it } from 'vitest';
import type { Exchange } from './exchange.ts';
import type { LoadOrder, Target } from './order.ts';
import { runOrder } from './run-order.ts';

const target: Target = {
  origin: 'http://service',
  path: '/v1/responses',
  headers: { authorization: 'Bearer first' },
  body: '{"input":"Hello"}',
  mark: 'tok',
  marks: 1,
  ending: '}',
};

/** Answers each request at once, with an id of its own, and keeps what was sent. */
function service() {
  const sent: Target[] = [];
  const exchange = async (one: Target): Promise<Exchange> => {
    sent.push(one);
    return {
      failure: undefined,
      status: 200,
      marks: 1,
      elapsedMs: 1,
      firstMarkMs: 1,
      gapsMs: [],
      id: `resp_${sent.length}`,
    };
  };
  return { sent, exchange };
}

const order: LoadOrder = { target, concurrency: 1, durationMs: 60_000, count: 2 };

describe('an order of load', () => {
  it('sends the same request each time', async () => {
    const { sent, exchange } = service();
    expect(await runOrder(exchange, order)).toMatchObject({ completed: 2, failed: 0, marks: 2 });
    expect(sent).toEqual([target, target]);
  });

  it('gives each lane a key of its own', async () => {
    const { sent, exchange } = service();
    await runOrder(exchange, { ...order, concurrency: 2, authorizations: ['Bearer a', 'Bearer b'] });
    expect(sent.map(({ headers }) => headers['authorization'])).toEqual(['Bearer a', 'Bearer b']);
  });

  it('continues the last response of a lane, also in the next order of the same name', async () => {
    const { sent, exchange } = service();
    const conversations = new Map();
    await runOrder(exchange, { ...order, conversation: 'chat' }, conversations);
    await runOrder(exchange, { ...order, conversation: 'other' }, conversations);
    await runOrder(exchange, { ...order, conversation: 'chat', count: 1 }, conversations);
    const previous = sent.map(
      ({ body }) => (JSON.parse(body) as Record<string, unknown>)['previous_response_id'],
    );
    expect(previous).toEqual([undefined, 'resp_1', undefined, 'resp_3', 'resp_2']);
  });

  it('sends again what was refused, where its client would', async () => {
    const { sent, exchange } = service();
    const refusedFirst = async (one: Target): Promise<Exchange> => {
      const result = await exchange(one);
      return sent.length === 1 ? { ...result, status: 503, failure: 'status 503' } : result;
    };
    expect(await runOrder(refusedFirst, { ...order, retryMs: 1 })).toMatchObject({
      completed: 2,
      failed: 0,
      refused: 1,
    });
    sent.length = 0;
    expect(await runOrder(refusedFirst, order)).toMatchObject({ completed: 1, failed: 1, refused: 0 });
  });
});
