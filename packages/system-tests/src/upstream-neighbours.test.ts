import { eventually, type FakeUpstream, startFakeUpstream, type UpstreamExchange } from '@sluice/testing';
import { expect, it } from 'vitest';
import { type Answer, callerOf } from './caller.ts';
import { promptOf } from './scripted-upstream.ts';
import { type Service, startService } from './service.ts';

const hostile = { name: 'hostile', key: 'sk-hostile-0123456789abcdef' };
const quiet = { name: 'quiet', key: 'sk-quiet-0123456789abcdef' };

/** How many requests of the quiet tenant are answered one after the other, and in how many lines of them. */
const lines = 4;
const inLine = 15;

/** Longer than the slowest of them may ever take: one that is not answered by then counts as failed. */
const patienceMs = 20_000;

/** An upstream with a model and a prompt that always fail, and a prompt that it always limits. */
async function startUpstream(): Promise<FakeUpstream> {
  const upstream = await startFakeUpstream();
  upstream.onChatCompletions(async (exchange: UpstreamExchange) => {
    const { model } = exchange.request.body as { model: string };
    if (model === 'broken' || promptOf(exchange.request) === 'failing')
      return exchange.json(500, { error: { message: 'no' } });
    if (promptOf(exchange.request) === 'limited') return exchange.json(429, {}, { 'retry-after': '30' });
    const answer = exchange.stream();
    await answer.send({ choices: [{ index: 0, delta: { content: 'Well.' }, finish_reason: 'stop' }] });
    answer.done();
  });
  return upstream;
}

function startWith(upstream: FakeUpstream): Promise<Service> {
  return startService({
    workers: 2,
    settings: {
      keys: [hostile, quiet],
      providers: [{ id: 'upstream', type: 'openai-chat', baseUrl: upstream.baseUrl }],
      models: ['fast', 'broken'].map((id) => ({ id, routes: [{ provider: 'upstream' }] })),
      workerConcurrency: 8,
    },
  });
}

/** Requests of the quiet tenant to a healthy model, and how many of them were answered. */
async function askQuietly(service: Service): Promise<{ answered: number; asked: number }> {
  const caller = callerOf(service.apiUrls[0] ?? '', quiet.key);
  const answers = await Promise.all(
    Array.from({ length: lines }, async () => {
      let answered = 0;
      for (let at = 0; at < inLine; at += 1) {
        const signal = AbortSignal.timeout(patienceMs);
        const answer = await caller
          .create({ model: 'fast', input: 'Hello' }, { signal })
          .catch(() => undefined);
        if (answer?.body.status === 'completed') answered += 1;
      }
      return answered;
    }),
  );
  return { answered: answers.reduce((sum, each) => sum + each, 0), asked: lines * inLine };
}

const all = { answered: lines * inLine, asked: lines * inLine };

it.each([
  ['a model of the same upstream that always fails', { model: 'broken', input: 'Hello' }],
  ['the same model with what always fails', { model: 'fast', input: 'failing' }],
] as const)(
  'answers one tenant while another calls %s, as while nobody else calls',
  async (_name, request) => {
    const upstream = await startUpstream();
    try {
      await using service = await startWith(upstream);
      expect(await askQuietly(service)).toEqual(all);
      const stop = new AbortController();
      const caller = callerOf(service.apiUrls[0] ?? '', hostile.key);
      const flood = async () => {
        const ends: string[] = [];
        while (!stop.signal.aborted) {
          const answer: Answer | undefined = await caller
            .create(request, { signal: stop.signal })
            .catch(() => undefined);
          if (answer) ends.push(String(answer.status));
        }
        return ends;
      };
      const before = upstream.requests.length;
      const floods = Promise.all(Array.from({ length: 4 }, flood));
      await upstream.request(before + 10);
      expect(await askQuietly(service)).toEqual(all);
      stop.abort();
      expect(new Set((await floods).flat())).toEqual(new Set(['502']));
    } finally {
      await upstream.close();
    }
  },
  300_000,
);

it('answers one tenant while the upstream limits each call of a request of another, as while nobody else calls', async () => {
  const upstream = await startUpstream();
  try {
    await using service = await startWith(upstream);
    expect(await askQuietly(service)).toEqual(all);
    const caller = callerOf(service.apiUrls[0] ?? '', hostile.key);
    const leaving = new AbortController();
    const { signal } = leaving;
    const limited = () => upstream.requests.filter((each) => promptOf(each) === 'limited').length;
    const refused = caller.create({ model: 'fast', input: 'limited' }, { signal });
    refused.catch(() => undefined);
    await eventually(() => limited() > 0);
    expect(await askQuietly(service)).toEqual(all);
    expect(limited()).toBeLessThanOrEqual(2);
    // A service that stops waits for its callers.
    leaving.abort();
  } finally {
    await upstream.close();
  }
}, 300_000);
