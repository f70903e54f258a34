import {
  eventually,
  type FakeUpstream,
  latch,
  type UpstreamExchange,
  type UpstreamHandler,
  within,
} from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AcceptedResponses } from './accepted-responses.ts';
import { hello } from './listening-worker.ts';
import { model, startUpstreamSite, type UpstreamSite, upstreamsAt } from './upstream-site.ts';

let site: UpstreamSite;
let responses: AcceptedResponses;

beforeEach(async () => {
  site = await startUpstreamSite();
  ({ responses } = site);
});

afterEach(() => site.stop());

interface WorkerOptions {
  concurrency?: number;
  recovery?: string;
  /** Upstream of another model, which shares the queue. */
  neighbour?: FakeUpstream;
}

/** A worker whose model has a route to each upstream, in order. Returns the port of its health listener. */
async function startWorker(
  routes: readonly FakeUpstream[],
  { concurrency = 8, recovery = '', neighbour }: WorkerOptions = {},
): Promise<number> {
  const used = neighbour ? [...routes, neighbour] : routes;
  const shared = `, { id: neighbour, queue: ${model}, routes: [{ provider: u${routes.length} }] }`;
  const file = `
providers: [${used.map(({ baseUrl }, at) => `{ id: u${at}, type: openai-chat, baseUrl: '${baseUrl}' }`).join(', ')}]
models: [{ id: ${model}, routes: [${routes.map((_, at) => `{ provider: u${at} }`).join(', ')}] }${neighbour ? shared : ''}]
recovery: { lockMs: 6000, stalledMs: 300, ${recovery} }
workerConcurrency: ${concurrency}
`;
  return site.startWorker(file);
}

const broken: UpstreamHandler = ({ json }) => json(500, {});

/** Does one thing with the first requests, and another with all others. */
function atFirst(count: number, first: UpstreamHandler, then: UpstreamHandler): UpstreamHandler {
  let asked = 0;
  return (exchange) => {
    asked += 1;
    return asked <= count ? first(exchange) : then(exchange);
  };
}

/** Limits the first requests, each for so long, and answers all others. Counts those that come before that time is over. */
function limiting(count: number, { forMs }: { forMs: number }) {
  let early = 0;
  let isLimited = false;
  const limited: UpstreamHandler = (exchange) => {
    isLimited = true;
    setTimeout(() => {
      isLimited = false;
    }, forMs);
    return limits(forMs)(exchange);
  };
  const inTurn = atFirst(count, limited, hello);
  return {
    early: () => early,
    handler: (exchange: UpstreamExchange) => {
      if (isLimited) early += 1;
      return inTurn(exchange);
    },
  };
}

const limits =
  (retryAfterMs: number): UpstreamHandler =>
  ({ json }) =>
    json(429, {}, { 'retry-after-ms': String(retryAfterMs) });

describe('an upstream that fails', () => {
  it('gets no more calls once its breaker is open, and callers learn of it at once', async () => {
    const dead = await site.upstream(broken);
    const port = await startWorker([dead], {
      concurrency: 4,
      recovery: 'breaker: { consecutiveFailures: 5, openMs: 60000, longestOpenMs: 60000, waitMs: 0 }',
    });
    const ids = await site.acceptMany(40);
    expect(await site.statusesOf(ids)).toEqual({ upstream_error: 40 });
    // Each of the five responses may have tried twice, and three more were under way when the fifth failure opened it.
    expect(dead.requests.length).toBeLessThanOrEqual(2 * 5 + 3);
    expect(await upstreamsAt(port)).toMatchObject([{ provider: 'u0', breaker: 'open' }]);
  });

  it('gets exactly one call to find out whether it is back', async () => {
    const goOn = latch();
    const upstream = await site.upstream(
      atFirst(2, broken, async (exchange) => {
        await goOn.wait();
        await hello(exchange);
      }),
    );
    const port = await startWorker([upstream], {
      concurrency: 8,
      recovery: 'breaker: { consecutiveFailures: 1, openMs: 500 }',
    });
    const first = await responses.accept({ streams: false });
    expect(await site.statusesOf([first])).toEqual({ upstream_error: 1 });
    const ids = await site.acceptMany(8);
    await upstream.request(2);
    // All eight were taken and wait: for as long as the probe is not answered none of them is called.
    await eventually(async () => {
      const found = await Promise.all(ids.map((id) => responses.record(id)));
      return found.every(({ status }) => status === 'in_progress');
    });
    expect(await upstreamsAt(port)).toMatchObject([{ breaker: 'half_open' }]);
    expect(upstream.requests).toHaveLength(3);
    goOn.open();
    expect(await site.statusesOf(ids)).toEqual({ completed: 8 });
    expect(await upstreamsAt(port)).toMatchObject([{ breaker: 'closed' }]);
    expect(upstream.requests).toHaveLength(2 + 8);
  });

  it('does not touch the breaker of another', async () => {
    const dead = await site.upstream(broken);
    const alive = await site.upstream(hello);
    const port = await startWorker([dead, alive], {
      concurrency: 1,
      recovery: 'breaker: { consecutiveFailures: 3, openMs: 60000, longestOpenMs: 60000 }',
    });
    const ids = await site.acceptMany(20);
    expect(await site.statusesOf(ids)).toEqual({ completed: 20 });
    expect(dead.requests).toHaveLength(3);
    expect(alive.requests).toHaveLength(20);
    for (const id of ids) expect(await responses.attempts(id)).toBe(1);
    expect(await upstreamsAt(port)).toMatchObject([
      { provider: 'u0', breaker: 'open' },
      { provider: 'u1', breaker: 'closed' },
    ]);
  });
});

describe('an upstream that limits us', () => {
  it('is not called before its time, and no attempt is used up', async () => {
    const { handler, early } = limiting(3, { forMs: 400 });
    const upstream = await site.upstream(handler);
    await startWorker([upstream]);
    const id = await responses.accept();
    expect(await responses.ended(id)).toMatchObject({ status: 'completed' });
    // Four calls, with two attempts allowed.
    expect(upstream.requests).toHaveLength(4);
    expect(early()).toBe(0);
    expect(await responses.attempts(id)).toBe(1);
  });

  it('gives way to another route at once', async () => {
    const limited = await site.upstream(limits(60_000));
    const free = await site.upstream(hello);
    const port = await startWorker([limited, free], { concurrency: 1 });
    const ids = await site.acceptMany(10);
    expect(await site.statusesOf(ids)).toEqual({ completed: 10 });
    expect(limited.requests).toHaveLength(1);
    const [first] = await upstreamsAt(port);
    expect(first).toMatchObject({ breaker: 'closed' });
    expect(first?.routes[0]?.parkedMs).toBeGreaterThan(0);
  });

  it('keeps responses in the queue when no route is left, and they complete after it', async () => {
    const limited = [limiting(1, { forMs: 4_000 }), limiting(1, { forMs: 4_000 })];
    const both = await Promise.all(limited.map(({ handler }) => site.upstream(handler)));
    await startWorker(both, { concurrency: 4 });
    const first = await responses.accept({ streams: false });
    // Its job waits; its slot is free.
    await eventually(async () => (await responses.queue.counts(model)).delayed === 1);
    const ids = [first, ...(await site.acceptMany(20, { background: true }))];
    expect(await site.statusesOf(ids)).toEqual({ completed: 21 });
    for (const id of ids) expect(await responses.attempts(id)).toBe(1);
    expect(limited.map(({ early }) => early())).toEqual([0, 0]);
    expect(both.flatMap(({ requests }) => requests)).toHaveLength(2 + 21);
  });

  it('is not asked to take jobs only to give them back', async () => {
    const goOn = latch();
    const upstream = await site.upstream(
      atFirst(
        3,
        async (exchange) => {
          await goOn.wait();
          await limits(4_000)(exchange);
        },
        hello,
      ),
    );
    const port = await startWorker([upstream], { concurrency: 4 });
    const tenants = ['one', 'two', 'three'];
    const first = await Promise.all(
      tenants.map((tenant) => responses.accept({ streams: false, background: true, tenant })),
    );
    await upstream.request(2);
    goOn.open();
    await eventually(async () => (await responses.queue.counts(model)).delayed === 3);
    const ids = [...first, ...(await site.acceptMany(50, { background: true }))];
    expect(await site.statusesOf(ids)).toEqual({ completed: 53 });
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const postponed = /^sluice_attempts_postponed_total\{[^}]*because="parked"[^}]*\} (\d+)/m.exec(
      metrics,
    )?.[1];
    // The first, and one that the BullMQ worker was waiting for when the queue was held.
    expect(Number(postponed)).toBeLessThanOrEqual(3 + 1);
    expect(upstream.requests).toHaveLength(3 + 53);
  });

  it('keeps nothing from a model of the same queue that has a free route', async () => {
    const upstream = await site.upstream(limits(60_000));
    await startWorker([upstream], { neighbour: await site.upstream(hello) });
    for (const delayed of [1, 2, 3]) {
      await responses.accept({ streams: false });
      // Its job was taken and given back: the queue is not held.
      await eventually(async () => (await responses.queue.counts(model)).delayed === delayed);
    }
    expect(upstream.requests).toHaveLength(1);
  });

  it('ends a response that is cancelled while its job is delayed, at once', async () => {
    const upstream = await site.upstream(limits(60_000));
    await startWorker([upstream]);
    const id = await responses.accept({ streams: false });
    await eventually(async () => (await responses.queue.counts(model)).delayed === 1);
    await responses.store.cancel(id, 'requested');
    expect(await within(responses.ended(id), { timeoutMs: 30_000 })).toMatchObject({ status: 'cancelled' });
    expect(upstream.requests).toHaveLength(1);
  });
});
