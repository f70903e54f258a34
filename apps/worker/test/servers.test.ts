import { eventually, type FakeUpstream, latch } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AcceptedResponses, AcceptOptions } from './accepted-responses.ts';
import { hello } from './listening-worker.ts';
import { model, startUpstreamSite, type UpstreamSite, upstreamsAt } from './upstream-site.ts';

let site: UpstreamSite;
let responses: AcceptedResponses;
let servers: FakeUpstream[];

beforeEach(async () => {
  site = await startUpstreamSite();
  ({ responses } = site);
  servers = await Promise.all([0, 1, 2].map(() => site.upstream(hello)));
});

afterEach(() => site.stop());

const serverAt = (at: number) => servers[at] ?? expect.unreachable();
const callsAt = () => servers.map(({ requests }) => requests.length);

/** Starts a worker whose model is at all three servers. Returns the port of its health listener. */
async function startWorker(recovery = ''): Promise<number> {
  const file = `
providers: [{ id: up, type: openai-chat, replicas: [${servers.map(({ baseUrl }) => `'${baseUrl}'`).join(', ')}] }]
models: [{ id: ${model}, routes: [{ provider: up }] }]
recovery: { lockMs: 6000, stalledMs: 300, ${recovery} }
workerConcurrency: 8
`;
  return site.startWorker(file);
}

async function answered(options: AcceptOptions = {}): Promise<string> {
  const id = await responses.accept({ streams: false, ...options });
  const { end } = await responses.ended(id);
  expect(end?.status).toBe('completed');
  return id;
}

/** Waits until each worker knows that so many calls are under way. */
async function everyWorkerHears(calls: number): Promise<void> {
  const entries = async () =>
    (await site.redis.client.hvals(responses.keys.serverCalls)).map((entry) => {
      const [at = '', ...told] = entry.split(' ');
      const counts = JSON.parse(told.join(' ')) as [string, number][]; // as tell-calls.ts writes it
      return { at: Number(at), calls: counts.reduce((sum, [, count]) => sum + count, 0) };
    });
  let toldAt = 0;
  await eventually(async () => {
    const told = await entries();
    toldAt = Math.max(...told.map(({ at }) => at));
    return told.length === site.workers.length && told.reduce((sum, each) => sum + each.calls, 0) === calls;
  });
  // A worker hears of the others when it tells.
  await eventually(async () => (await entries()).every(({ at }) => at > toldAt));
}

/** The server that got the next call. */
async function serverOf(act: () => Promise<unknown>): Promise<number> {
  const before = callsAt();
  await act();
  const grown = callsAt().map((calls, at) => calls - (before[at] ?? 0));
  expect(grown.toSorted((one, other) => one - other)).toEqual([0, 0, 1]);
  return grown.indexOf(1);
}

describe('two workers and three servers of one provider', () => {
  it('keep each chain on the server that began it', async () => {
    await startWorker();
    await startWorker();
    const used = new Set<number>();
    for (let chain = 0; chain < 12; chain += 1) {
      let previous = '';
      const first = await serverOf(async () => {
        previous = await answered({ text: `Chain ${chain}` });
      });
      used.add(first);
      for (let turn = 0; turn < 3; turn += 1) {
        const next = await serverOf(async () => {
          previous = await answered({ text: 'and then?', previous });
        });
        expect(next).toBe(first);
      }
    }
    expect(used.size).toBeGreaterThan(1);
  });

  it('send requests with one prompt_cache_key of a tenant to one server', async () => {
    await startWorker();
    await startWorker();
    const used = new Set<number>();
    for (let at = 0; at < 4; at += 1) {
      await everyWorkerHears(0);
      used.add(await serverOf(() => answered({ text: `Text ${at}`, promptCacheKey: 'a-conversation' })));
    }
    expect(used.size).toBe(1);
  });

  it('share the calls under way, so that no server gets more than its share', async () => {
    await startWorker();
    await startWorker();
    const goOn = latch();
    for (const server of servers) {
      server.onChatCompletions(async (exchange) => {
        await goOn.wait();
        await hello(exchange);
      });
    }
    const ids: string[] = [];
    for (const calls of [1, 2, 3, 4]) {
      ids.push(await responses.accept({ streams: false, promptCacheKey: 'busy' }));
      await eventually(() => callsAt().reduce((sum, each) => sum + each, 0) === calls);
      await everyWorkerHears(calls);
      // One key would have them all at one server.
      expect(Math.max(...callsAt())).toBeLessThanOrEqual(Math.ceil((1.1 * calls) / 3));
    }
    goOn.open();
    for (const id of ids) expect((await responses.ended(id)).end?.status).toBe('completed');
  });

  it('give the work of a dead server to the others, and its chains as well', async () => {
    const ports = [
      await startWorker('breaker: { consecutiveFailures: 1, openMs: 60000, longestOpenMs: 60000 }'),
      await startWorker('breaker: { consecutiveFailures: 1, openMs: 60000, longestOpenMs: 60000 }'),
    ];
    let previous = '';
    const dead = await serverOf(async () => {
      previous = await answered({ promptCacheKey: 'k' });
    });
    serverAt(dead).onChatCompletions(({ cut }) => cut());
    const calls = callsAt();
    for (let turn = 0; turn < 6; turn += 1) previous = await answered({ previous, promptCacheKey: 'k' });
    const sums = callsAt().map((each, at) => each - (calls[at] ?? 0));
    expect(sums.reduce((sum, each) => sum + each, 0) - (sums[dead] ?? 0)).toBe(6);
    // Each worker calls it once at most before its breaker opens.
    expect(sums[dead]).toBeLessThanOrEqual(2);
    const reports = await Promise.all(ports.map(upstreamsAt));
    const open = reports.flat().filter(({ breaker }) => breaker === 'open');
    expect(open.length).toBeGreaterThan(0);
    for (const { server } of open) expect(server).toBe(serverAt(dead).baseUrl);
  });

  it('park a server that limits them, and no other', async () => {
    const port = await startWorker();
    let previous = '';
    const limited = await serverOf(async () => {
      previous = await answered({ promptCacheKey: 'k' });
    });
    serverAt(limited).onChatCompletions(({ json }) => json(429, {}, { 'retry-after': '30' }));
    const before = serverAt(limited).requests.length;
    for (let turn = 0; turn < 3; turn += 1) previous = await answered({ previous, promptCacheKey: 'k' });
    expect(serverAt(limited).requests.length).toBe(before + 1);
    const parked = (await upstreamsAt(port)).filter(({ routes }) =>
      routes.some(({ parkedMs }) => parkedMs > 0),
    );
    expect(parked.map(({ server }) => server)).toEqual([serverAt(limited).baseUrl]);
  });

  it('fail as with one server when all of them are down', async () => {
    await startWorker(
      'breaker: { consecutiveFailures: 5, openMs: 60000, longestOpenMs: 60000, waitMs: 0 }, maxAttempts: 1',
    );
    for (const server of servers) server.onChatCompletions(({ json }) => json(500, {}));
    const id = await responses.accept({ streams: false });
    expect((await responses.ended(id)).end?.error?.code).toBe('upstream_error');
    expect(callsAt()).toEqual([1, 1, 1]);
  });
});
