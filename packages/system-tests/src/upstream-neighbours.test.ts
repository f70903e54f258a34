import { type FakeUpstream, startFakeUpstream, type UpstreamExchange } from '@sluice/testing';
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

it.each([
  ['a model of the same upstream that always fails', 'hostile', { model: 'broken', input: 'Hello' }],
  ['the same model with what always fails', 'hostile', { model: 'fast', input: 'failing' }],
  ['nothing', 'control', undefined],
] as const)(
  'answers one tenant while another calls %s (%s)',
  async (_name, run, request) => {
    const upstream = await startUpstream();
    try {
      await using service = await startWith(upstream);
      const stop = new AbortController();
      const caller = callerOf(service.apiUrls[0] ?? '', hostile.key);
      const flood = async () => {
        const ends: string[] = [];
        while (request && !stop.signal.aborted) {
          const answer: Answer | undefined = await caller
            .create(request, { signal: stop.signal })
            .catch(() => undefined);
          if (answer) ends.push(String(answer.status));
        }
        return ends;
      };
      const floods = Promise.all(Array.from({ length: 4 }, flood));
      if (request) await upstream.request(10);
      const { answered, asked } = await askQuietly(service);
      stop.abort();
      const ends = (await floods).flat();
      expect({ run, answered, hostile: ends.every((status) => status === '502') }).toEqual({
        ...{ run, answered: asked, hostile: true },
      });
    } finally {
      await upstream.close();
    }
  },
  300_000,
);

it.each(['hostile', 'control'] as const)(
  'answers one tenant while the upstream limits each call of a request of another (%s)',
  async (run) => {
    const upstream = await startUpstream();
    try {
      await using service = await startWith(upstream);
      const caller = callerOf(service.apiUrls[0] ?? '', hostile.key);
      const leaving = new AbortController();
      const { signal } = leaving;
      const refused =
        run === 'hostile' ? caller.create({ model: 'fast', input: 'limited' }, { signal }) : undefined;
      refused?.catch(() => undefined);
      if (refused) await upstream.request(0);
      const { answered, asked } = await askQuietly(service);
      const calls = upstream.requests.filter((each) => promptOf(each) === 'limited').length;
      expect({ answered, asked }).toEqual({ answered: asked, asked });
      expect(calls).toBeLessThanOrEqual(2);
      // A service that stops waits for its callers.
      leaving.abort();
    } finally {
      await upstream.close();
    }
  },
  300_000,
);
