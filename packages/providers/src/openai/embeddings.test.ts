import type { Generation } from '@sluice/contract';
import { type FakeUpstream, startFakeUpstream, type UpstreamHandler } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createProvider, type Provider, type ProviderChunk } from '../index.ts';
import { all, run, timeouts } from '../../test/upstream-wires.ts';

let upstream: FakeUpstream;
let provider: Provider;
beforeEach(async () => {
  upstream = await startFakeUpstream();
  provider = createProvider({ type: 'openai-chat', id: 'up', baseUrl: upstream.baseUrl }, timeouts);
});
afterEach(async () => {
  await provider.close();
  await upstream.close();
});

const generationOf = (
  texts: string[],
  embedding: Generation['embedding'] = { form: 'texts' },
): Generation => ({
  input: texts.map((content) => ({ type: 'message', role: 'user', content })),
  embedding: embedding ?? { form: 'texts' },
});
const base64 = (...numbers: number[]) => Buffer.from(Float32Array.from(numbers).buffer).toString('base64');
const vectorsIn = (chunks: ProviderChunk[]) =>
  chunks.flatMap((chunk) => (chunk.type === 'text' ? [chunk.delta] : []));

interface Body {
  input: unknown[];
}

/** Answers the route of embeddings with what a function makes of the number of each text. */
function answer(embeddingOf: (at: number) => unknown, order = (data: object[]) => data): void {
  const handler: UpstreamHandler = ({ request, json }) => {
    if (request.path !== '/v1/embeddings') return json(404, {});
    const { input } = request.body as Body;
    const data = input.map((_, index) => ({ object: 'embedding', index, embedding: embeddingOf(index) }));
    json(200, { object: 'list', data: order(data), usage: { prompt_tokens: 3, total_tokens: 3 } });
  };
  upstream.onOther(handler);
}

describe('embeddings of an upstream', () => {
  it('are asked for to the last batch while the provider closes', async () => {
    const closed: Promise<void>[] = [];
    answer((at) => {
      if (at === 0) closed.push(provider.close());
      return base64(at);
    });
    const texts = Array.from({ length: 300 }, (_, at) => `text ${at}`);
    expect(vectorsIn(await all(run(provider, generationOf(texts))))).toHaveLength(300);
    await Promise.all(closed);
    expect(upstream.requests).toHaveLength(3);
  });

  it('are asked for as base64, and are a message each', async () => {
    answer((at) => base64(at, 0.5));
    const chunks = await all(run(provider, generationOf(['a', 'b'], { form: 'texts', dimensions: 2 })));
    expect(chunks).toMatchObject([
      { type: 'message' },
      { type: 'text', delta: base64(0, 0.5) },
      { type: 'message' },
      { type: 'text', delta: base64(1, 0.5) },
      { type: 'usage', usage: { input_tokens: 3, output_tokens: 0, total_tokens: 3 } },
      { type: 'finish', reason: 'stop' },
    ]);
    expect(upstream.requests[0]?.body).toMatchObject({
      input: ['a', 'b'],
      encoding_format: 'base64',
      dimensions: 2,
    });
    expect(upstream.requests[0]?.headers.accept).toBe('application/json');
  });

  it('may come as numbers, and in any order', async () => {
    answer(
      (at) => [at, 0.5],
      (data) => data.toReversed(),
    );
    expect(vectorsIn(await all(run(provider, generationOf(['a', 'b']))))).toEqual([
      base64(0, 0.5),
      base64(1, 0.5),
    ]);
  });

  it('are asked for with tokens as numbers', async () => {
    answer(() => base64(1));
    await all(run(provider, generationOf(['[1,2]', '[3]'], { form: 'tokens' })));
    expect(upstream.requests[0]?.body).toMatchObject({ input: [[1, 2], [3]] });
  });

  it.each([
    ['many texts', Array.from({ length: 300 }, (_, at) => `text ${at}`), [128, 128, 44]],
    ['long texts', ['a', 'x'.repeat(600_000), 'b', 'c'], [1, 1, 2]],
  ])('come in batches: %s', async (_what, texts, sizes) => {
    answer(() => base64(1));
    const chunks = await all(run(provider, generationOf(texts)));
    expect(vectorsIn(chunks)).toHaveLength(texts.length);
    expect(chunks).toContainEqual({
      type: 'usage',
      usage: expect.objectContaining({ input_tokens: 3 * sizes.length }),
    });
    expect(upstream.requests.map(({ body }) => (body as Body).input.length)).toEqual(sizes);
    expect(upstream.requests.flatMap(({ body }) => (body as Body).input)).toEqual(texts);
  });

  it.each([
    ['nothing', () => ({})],
    ['zero', () => ({ usage: { prompt_tokens: 0, total_tokens: 0 } })],
    ['one batch alone', (at: number) => (at === 0 ? { usage: { prompt_tokens: 3 } } : {})],
  ])('have no usage where their server counts %s', async (_what, countOf) => {
    upstream.onOther(({ request, json }) => {
      const data = (request.body as Body).input.map(() => ({ embedding: base64(1) }));
      json(200, { data, ...countOf(upstream.requests.length - 1) });
    });
    const chunks = await all(run(provider, generationOf(Array.from({ length: 200 }, () => 'a'))));
    expect(upstream.requests).toHaveLength(2);
    expect(chunks.filter(({ type }) => type === 'usage')).toEqual([]);
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'stop' });
  });

  it.each([
    ['too few', (data: object[]) => data.slice(1)],
    ['one twice', (data: object[]) => [data[0] ?? {}, data[0] ?? {}]],
    ['an empty one', (data: object[]) => [...data.slice(1), { index: 0, embedding: [] }]],
    ['one that is none', (data: object[]) => [...data.slice(1), { index: 0, embedding: 'AAA' }]],
    ['numbers that are none', (data: object[]) => [...data.slice(1), { index: 0, embedding: [1, null] }]],
  ])('that are not one for each text are a failure: %s', async (_what, order) => {
    answer(() => base64(1), order);
    await expect(all(run(provider, generationOf(['a', 'b'])))).rejects.toMatchObject({
      code: 'upstream_error',
      disposition: 'retry',
    });
  });

  it.each<[string, UpstreamHandler, object]>([
    ['a bad request', ({ json }) => json(400, { error: { message: 'no' } }), { code: 'invalid_prompt' }],
    [
      'a text that is too long',
      ({ json }) => json(400, { error: { message: 'maximum context length is 8192 tokens' } }),
      { code: 'context_length_exceeded' },
    ],
    [
      'a limit',
      ({ json }) => json(429, { error: {} }, { 'retry-after': '2' }),
      { code: 'server_is_overloaded', fault: 'limited', retryAfterMs: 2000 },
    ],
    ['no JSON', ({ text }) => text(200, 'text/html', '<html>'), { code: 'upstream_error', fault: 'broken' }],
    ['a cut', ({ cut }) => cut(), { code: 'upstream_error', fault: 'broken' }],
    ['silence', ({ hang }) => hang(), { code: 'upstream_error', fault: 'broken' }],
  ])('fail as answers do: %s', async (_what, handler, failure) => {
    upstream.onOther(handler);
    const impatient = createProvider(
      { type: 'openai-responses', id: 'up', baseUrl: upstream.baseUrl },
      { ...timeouts, firstTokenMs: 300 },
    );
    await expect(all(run(impatient, generationOf(['a'])))).rejects.toMatchObject(failure);
    await impatient.close();
  });

  it('of an upstream that is not there show that', async () => {
    const gone = createProvider(
      { type: 'openai-chat', id: 'up', baseUrl: 'http://127.0.0.1:9/v1' },
      timeouts,
    );
    await expect(all(run(gone, generationOf(['a'])))).rejects.toMatchObject({ fault: 'unreachable' });
    await gone.close();
  });

  it('are left when nobody wants them any more', async () => {
    upstream.onOther(({ hang }) => hang());
    const leaving = new AbortController();
    const chunks = all(run(provider, generationOf(['a']), leaving.signal));
    const called = await upstream.request(0);
    leaving.abort(new Error('left'));
    await expect(chunks).rejects.toThrow('left');
    expect(await called.ended).toBe('aborted');
  });
});

describe('embeddings of the simulator', () => {
  const simulator = createProvider({ type: 'simulator', id: 'sim' }, timeouts);
  const vectors = async (texts: string[], embedding?: Generation['embedding']) =>
    vectorsIn(await all(run(simulator, generationOf(texts, embedding)))).map((text) => {
      const bytes = Buffer.from(text, 'base64');
      return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(4 * at));
    });
  const product = (one: number[] = [], other: number[] = []) =>
    one.reduce((sum, number, at) => sum + number * (other[at] ?? 0), 0);

  it('follow from the words of a text', async () => {
    const [cat, same, near, far] = await vectors([
      'The cat sat.',
      'the CAT sat',
      'The cat ran.',
      'Rain falls',
    ]);
    expect(cat).toEqual(same);
    expect(product(cat, cat)).toBeCloseTo(1, 5);
    expect(product(cat, near)).toBeGreaterThan(product(cat, far) + 0.2);
  });

  it('fail as a text says', async () => {
    const failing = all(run(simulator, generationOf(['Hi [[sluice: fail=upstream_error]]'])));
    await expect(failing).rejects.toMatchObject({ code: 'upstream_error' });
  });

  it('have as many numbers as are asked for', async () => {
    expect((await vectors(['a'])).map(({ length }) => length)).toEqual([256]);
    const few = await vectors(['[1,2]', '[3]'], { form: 'tokens', dimensions: 8 });
    expect(few.map(({ length }) => length)).toEqual([8, 8]);
  });
});
