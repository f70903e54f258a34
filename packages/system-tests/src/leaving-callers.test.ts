import { eventually, type FakeUpstream, startFakeUpstream, within } from '@sluice/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { type Service, startService } from './service.ts';

let upstream: FakeUpstream;
let service: Service;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  service = await startService({
    apis: 2,
    workers: 2,
    settings: {
      providers: [{ id: 'upstream', type: 'openai-chat', baseUrl: upstream.baseUrl }],
      models: [
        { id: 'held', routes: [{ provider: 'upstream' }] },
        { id: 'narrow', routes: [{ provider: 'upstream' }], concurrency: 1 },
      ],
    },
  });
});
afterAll(async () => {
  await service?.stop();
  await upstream?.close();
});

const callerFor = (at: number) => callerOf(service.apiUrls[at % 2] ?? '', service.key);

/** Makes the upstream send nothing at all, or one word and then nothing. */
function holdAfter(words: 'nothing' | 'one word'): void {
  upstream.onChatCompletions(async ({ stream, hang }) => {
    if (words === 'one word') {
      await stream().send({ choices: [{ index: 0, delta: { content: 'Well' } }] });
    }
    await hang();
  });
}

/** The time from the moment the caller leaves to the end of the upstream call, in milliseconds. */
async function timeToStop(leave: () => void, callIndex: number): Promise<number> {
  const { ended } = await upstream.request(callIndex);
  const leftAt = performance.now();
  leave();
  expect(await within(ended)).toBe('aborted');
  return performance.now() - leftAt;
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}

describe('a caller who leaves stops the upstream call within a second', () => {
  it('in mid-stream', async () => {
    holdAfter('one word');
    const times: number[] = [];
    for (let at = 0; at < 50; at++) {
      const leaving = new AbortController();
      const index = upstream.requests.length;
      const firstWord = Promise.withResolvers<void>();
      const stream = callerFor(at).stream(
        { model: 'held', input: 'Talk.' },
        {
          signal: leaving.signal,
          onEvent: ({ type }) => {
            if (type === 'response.output_text.delta') firstWord.resolve();
          },
        },
      );
      const lost = expect(stream).rejects.toThrow();
      await within(firstWord.promise);
      times.push(await timeToStop(() => leaving.abort(), index));
      await lost;
    }
    expect(percentile(times, 0.99)).toBeLessThan(1000);
  });

  it.each([
    { window: 'before the first token of a stream', words: 'nothing', streams: true },
    { window: 'before the first token of a whole answer', words: 'nothing', streams: false },
    { window: 'while a whole answer is being made', words: 'one word', streams: false },
  ] as const)('$window', async ({ words, streams }) => {
    holdAfter(words);
    const times: number[] = [];
    for (let at = 0; at < 20; at++) {
      const leaving = new AbortController();
      const index = upstream.requests.length;
      const caller = callerFor(at);
      const call = streams ? caller.stream : caller.create;
      const lost = expect(
        call({ model: 'held', input: 'Talk.' }, { signal: leaving.signal }),
      ).rejects.toThrow();
      times.push(await timeToStop(() => leaving.abort(), index));
      await lost;
    }
    expect(percentile(times, 0.99)).toBeLessThan(1000);
  });
});

it('a caller who leaves while the response is queued keeps it from the upstream', async () => {
  holdAfter('nothing');
  const before = upstream.requests.length;
  const blocking = new AbortController();
  const blocker = expect(
    callerFor(0).create({ model: 'narrow', input: 'First.' }, { signal: blocking.signal }),
  ).rejects.toThrow();
  await upstream.request(before);

  const times: number[] = [];
  for (let at = 0; at < 20; at++) {
    const leaving = new AbortController();
    const queued = Promise.withResolvers<string>();
    const stream = callerFor(at).stream(
      { model: 'narrow', input: `Queued ${at}.` },
      {
        signal: leaving.signal,
        onEvent: ({ type, response }) => {
          if (type === 'response.queued') queued.resolve(response?.id ?? '');
        },
      },
    );
    const lost = expect(stream).rejects.toThrow();
    const id = await within(queued.promise);
    const leftAt = performance.now();
    leaving.abort();
    await eventually(async () => (await callerFor(at + 1).get(id)).body.status === 'cancelled');
    times.push(performance.now() - leftAt);
    await lost;
  }
  expect(percentile(times, 0.99)).toBeLessThan(1000);

  blocking.abort();
  await blocker;
  upstream.onChatCompletions(async ({ stream }) => {
    const answer = stream();
    await answer.send({ choices: [{ index: 0, delta: { content: 'Last.' }, finish_reason: 'stop' }] });
    answer.done();
  });
  const last = await callerFor(0).create({ model: 'narrow', input: 'After all of them.' });
  expect(last.body.output_text).toBe('Last.');
  // The call that held the queue and this one. None for the responses whose callers left.
  expect(upstream.requests.length - before).toBe(2);
});
