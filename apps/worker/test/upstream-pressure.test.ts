import { eventually, type FakeUpstream, latch, type UpstreamHandler, within } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RouteStatus } from '../src/upstream-status.ts';
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
  /** More settings of the first provider. */
  provider?: string;
  drainTimeoutMs?: number;
}

/** A worker whose model has a route to each upstream, in order. Returns the port of its health listener. */
async function startWorker(
  routes: readonly FakeUpstream[],
  { concurrency = 16, provider = '', drainTimeoutMs = 30_000 }: WorkerOptions = {},
): Promise<number> {
  const providers = routes.map(
    ({ baseUrl }, at) =>
      `{ id: u${at}, type: openai-chat, baseUrl: '${baseUrl}', ${at === 0 ? provider : ''} }`,
  );
  const file = `
providers: [${providers.join(', ')}]
models: [{ id: ${model}, routes: [${routes.map((_, at) => `{ provider: u${at} }`).join(', ')}] }]
workerConcurrency: ${concurrency}
drainTimeoutMs: ${drainTimeoutMs}
`;
  return site.startWorker(file);
}

/** An upstream that takes so many calls in a second, saves up those of one second, and refuses all others. */
function limitedTo(rate: number, headers: Record<string, string>): UpstreamHandler {
  let tokens = rate;
  let last = performance.now();
  return (exchange) => {
    const now = performance.now();
    tokens = Math.min(rate, tokens + ((now - last) * rate) / 1000);
    last = now;
    if (tokens < 1) return exchange.json(429, {}, headers);
    tokens -= 1;
    return hello(exchange);
  };
}

const acceptMany = (count: number) => site.acceptMany(count, { background: true });

async function routeOf(port: number): Promise<RouteStatus & { metricsFault: string | undefined }> {
  const [upstream] = await upstreamsAt(port);
  const route = upstream?.routes[0];
  if (!upstream || !route) throw new Error('the worker has no upstream');
  return { ...route, metricsFault: upstream.metricsFault };
}

describe('an upstream that takes some calls a second', () => {
  it.each([
    ['with Retry-After', { 'retry-after': '1' }],
    ['without Retry-After', {}],
  ])('is not asked for more, %s, and no response fails', async (_, headers) => {
    // That what it takes is used up is a matter of timing; `call-pace.test.ts` has it with a clock of its own.
    const rate = 80;
    const upstream = await site.upstream(limitedTo(rate, headers));
    const port = await startWorker([upstream]);
    const count = rate * 3;
    const ids = await acceptMany(count);
    expect(await site.statusesOf(ids)).toEqual({ completed: count });
    // Not one refusal for each response, but those of the slots once, and a few at each look for more.
    expect(upstream.requests.length - count).toBeLessThan(60);
    for (const id of ids) expect(await responses.attempts(id)).toBe(1);
    // Its limit of calls at a time is a matter of timing here; `route-pressure.test.ts` has it with a clock of its own.
    expect(await routeOf(port)).toMatchObject({ inFlight: 0, waiting: 0 });
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const refusals = /^sluice_upstream_refusals_total\{[^}]*\} (\d+)/m.exec(metrics)?.[1];
    expect(Number(refusals)).toBe(upstream.requests.length - count);
  });

  it('keeps no slots for those that would wait for long: they wait in the queue', async () => {
    const upstream = await site.upstream(limitedTo(1, { 'retry-after': '1' }));
    const port = await startWorker([upstream], { concurrency: 16 });
    await acceptMany(40);
    await eventually(async () => (await responses.queue.counts(model)).delayed > 0);
    await eventually(async () => {
      const { waiting, callsPerSecond } = await routeOf(port);
      return callsPerSecond !== null && waiting > 0;
    });
    const { waiting, callsPerSecond } = await routeOf(port);
    expect(waiting).toBeLessThanOrEqual(Math.max(1, Math.ceil((callsPerSecond ?? 0) * 3) + 1));
  });

  it('gives way to another route as one that is parked does', async () => {
    const limited = await site.upstream(limitedTo(2, {}));
    const free = await site.upstream(hello);
    await startWorker([limited, free]);
    const ids = await acceptMany(100);
    expect(await site.statusesOf(ids)).toEqual({ completed: 100 });
    expect(free.requests.length).toBeGreaterThan(50);
  });

  it('holds up no stop of the process: those that wait go back to the queue', async () => {
    const upstream = await site.upstream(limitedTo(1, {}));
    const port = await startWorker([upstream], { concurrency: 4, drainTimeoutMs: 500 });
    await acceptMany(20);
    await eventually(async () => (await routeOf(port)).waiting > 0);
    const [worker] = site.workers.splice(0);
    await within(Promise.resolve(worker?.stop('terminated')));
    const { waiting, delayed } = await responses.queue.counts(model);
    expect(waiting + delayed).toBeGreaterThan(0);
  });
});

describe('an upstream that takes some calls at a time', () => {
  it('gets about as many, and no response fails', async () => {
    const most = 4;
    const goOn = latch();
    let inFlight = 0;
    let refused = 0;
    const upstream = await site.upstream(async (exchange) => {
      if (inFlight >= most) {
        refused += 1;
        return exchange.json(429, {}, {});
      }
      inFlight += 1;
      await goOn.wait();
      inFlight -= 1;
      return hello(exchange);
    });
    const port = await startWorker([upstream]);
    const ids = await acceptMany(60);
    // The first refusals may be about calls in a time. Those that follow, while none ended, are not.
    await eventually(async () => (await routeOf(port)).limit <= most);
    expect(await routeOf(port)).toMatchObject({ inFlight: most });
    // The slots at first, and one call that found out.
    expect(refused).toBeLessThanOrEqual(16 - most + 2);
    goOn.open();
    expect(await site.statusesOf(ids)).toEqual({ completed: 60 });
    for (const id of ids) expect(await responses.attempts(id)).toBe(1);
  });

  it('and is not adapted to when that is switched off', async () => {
    const upstream = await site.upstream(limitedTo(20, {}));
    const port = await startWorker([upstream], { provider: 'pressure: { adaptive: false }' });
    const ids = await acceptMany(60);
    expect(await site.statusesOf(ids)).toEqual({ completed: 60 });
    expect(await routeOf(port)).toMatchObject({ callsPerSecond: null, limit: 16 });
  });
});

describe('an upstream whose own queue is read', () => {
  /** What its metrics page says from now on. */
  function withMetrics(upstream: FakeUpstream, everyMs = 100) {
    let page = 'vllm:num_requests_waiting{model_name="m"} 0';
    let status = 200;
    let reads = 0;
    upstream.onOther((exchange) => {
      reads += 1;
      return exchange.text(status, 'text/plain; version=0.0.4', page);
    });
    return {
      provider: `saturation: { metricsUrl: '${upstream.url}/metrics', most: 4, everyMs: ${everyMs} }`,
      reads: () => reads,
      say(waiting: number) {
        status = 200;
        page = `# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{engine="0",model_name="m"} ${waiting}.0\n`;
      },
      fail: () => {
        status = 500;
      },
      sayNothing: () => {
        page = 'up 1\n';
      },
      sayTooMuch: () => {
        page = 'up 1\n'.repeat(1_000_000);
      },
    };
  }

  it('gets no jobs while too many wait there, and gets them after that', async () => {
    const upstream = await site.upstream(hello);
    const metrics = withMetrics(upstream);
    metrics.say(5);
    const port = await startWorker([upstream], { provider: metrics.provider });
    await eventually(async () => (await routeOf(port)).saturation?.isHolding === true);
    const ids = await acceptMany(30);
    const before = metrics.reads();
    await eventually(() => metrics.reads() > before + 10);
    expect(upstream.requests.filter(({ path }) => path.includes('chat'))).toEqual([]);
    // They wait where another worker can take them.
    const { waiting, delayed } = await responses.queue.counts(model);
    expect(waiting + delayed).toBeGreaterThan(10);
    metrics.say(0);
    expect(await site.statusesOf(ids)).toEqual({ completed: 30 });
    expect(await routeOf(port)).toMatchObject({ saturation: { waiting: 0, most: 4, isHolding: false } });
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(page).toContain('sluice_upstream_queue_length{provider="u0",upstream_model="m",role="worker"} 0');
    expect(page).toContain('sluice_upstream_saturated{provider="u0",upstream_model="m",role="worker"} 0');
  });

  it('gets the jobs of a quiet tenant before those of one whose calls have filled it', async () => {
    const upstream = await site.upstream(hello);
    const metrics = withMetrics(upstream);
    metrics.say(5);
    const port = await startWorker([upstream], { provider: metrics.provider, concurrency: 2 });
    await eventually(async () => (await routeOf(port)).saturation?.isHolding === true);
    await acceptMany(40);
    const quiet = await responses.accept({
      streams: false,
      background: true,
      tenant: 'quiet',
      text: 'quiet',
    });
    metrics.say(0);
    await responses.ended(quiet);
    const calls = upstream.requests.filter(({ path }) => path.includes('chat'));
    // Those that had a slot when it came go first, and those whose turn it was.
    const turn = calls.findIndex(({ body }) => JSON.stringify(body).includes('quiet'));
    expect(turn).toBeGreaterThanOrEqual(0);
    expect(turn).toBeLessThan(20);
  });

  it.each([
    ['answers with an error', 'fail', 'answered with status 500'],
    ['does not have the metric', 'sayNothing', 'has no metric vllm:num_requests_waiting'],
    ['has no end', 'sayTooMuch', 'answered with more than 4194304 bytes'],
  ] as const)('gets its jobs when its page %s, and that is seen', async (_, how, fault) => {
    const upstream = await site.upstream(hello);
    // The interval is also the longest wait for a page: on a busy machine four megabytes take more than a tenth of a second.
    const metrics = withMetrics(upstream, 1500);
    metrics.say(50);
    const port = await startWorker([upstream], { provider: metrics.provider });
    await eventually(async () => (await routeOf(port)).saturation?.isHolding === true);
    const ids = await acceptMany(5);
    metrics[how]();
    expect(await site.statusesOf(ids)).toEqual({ completed: 5 });
    await eventually(async () => (await routeOf(port)).metricsFault === fault);
    expect(await routeOf(port)).toMatchObject({ saturation: { waiting: null } });
  });

  it('is waited for no longer than its interval, and gets its jobs', async () => {
    const upstream = await site.upstream(hello);
    const { provider } = withMetrics(upstream);
    const asked = latch();
    upstream.onOther(async (exchange) => {
      asked.open();
      await exchange.hang();
    });
    const port = await startWorker([upstream], { provider });
    await asked.wait();
    await eventually(async () => (await routeOf(port)).metricsFault === 'did not answer within 100 ms');
    expect(await site.statusesOf(await acceptMany(5))).toEqual({ completed: 5 });
  });

  it('is passed over for another route, as one that is parked is', async () => {
    const full = await site.upstream(hello);
    const metrics = withMetrics(full);
    metrics.say(50);
    const free = await site.upstream(hello);
    const port = await startWorker([full, free], { provider: metrics.provider });
    await eventually(async () => (await routeOf(port)).saturation?.isHolding === true);
    expect(await site.statusesOf(await acceptMany(10))).toEqual({ completed: 10 });
    expect(free.requests.filter(({ path }) => path.includes('chat'))).toHaveLength(10);
  });
});
