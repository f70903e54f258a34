import { readFileSync } from 'node:fs';
import { createParser } from 'eventsource-parser';
import { costAgainstParsing, usageOf } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { ChatReader } from './chat-reader.ts';
import type { ProviderChunk } from '../provider.ts';

function readAll(events: unknown[], wantsLogprobs = false, stop: string[] = []): ProviderChunk[] {
  const reader = new ChatReader('up', wantsLogprobs, stop);
  const chunks = events.flatMap((event) =>
    reader.read({ name: undefined, data: typeof event === 'string' ? event : JSON.stringify(event) }),
  );
  return [...chunks, ...reader.end()];
}

function recorded(name: string): string[] {
  const events: string[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event.data) });
  parser.feed(readFileSync(new URL(`./__fixtures__/${name}.sse`, import.meta.url), 'utf8'));
  return events;
}

const delta = (value: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta: value, finish_reason: finish }],
});
const piece = (value: object) => delta({ tool_calls: [value] });
const usage = (...counts: Parameters<typeof usageOf>) => ({ type: 'usage', usage: usageOf(...counts) });
const upstreamError = expect.objectContaining({ code: 'upstream_error', disposition: 'retry' });

describe('ChatReader on recorded streams', () => {
  it('reads reasoning and parallel tool calls of vLLM', () => {
    expect(readAll(recorded('vllm-reasoning-and-tool-calls'))).toEqual([
      { type: 'reasoning_text', delta: 'The user' },
      { type: 'reasoning_text', delta: ' asks twice.' },
      { type: 'function_call', callKey: '0', callId: 'chatcmpl-tool-0a1', name: 'get_weather' },
      { type: 'function_arguments', callKey: '0', delta: '{"city": ' },
      { type: 'function_arguments', callKey: '0', delta: '"Oslo"}' },
      { type: 'function_call', callKey: '1', callId: 'chatcmpl-tool-0a2', name: 'get_time' },
      { type: 'function_arguments', callKey: '1', delta: '{}' },
      usage(171, 44),
      { type: 'finish', reason: 'function_call' },
    ]);
  });

  it('reads an answer of llama.cpp that was cut by its length', () => {
    expect(readAll(recorded('llama-cpp-text'))).toEqual([
      { type: 'text', delta: 'Hello' },
      { type: 'text', delta: ' there' },
      usage(11, 2),
      { type: 'finish', reason: 'max_output_tokens' },
    ]);
  });

  it.each([
    ['stop', { stop_reason: 'END' }, 'END'],
    ['stop', { matched_stop: 'END' }, 'END'],
    ['stop', { stop_reason: 128_009 }, undefined],
    ['stop', { stop_reason: 'not asked for' }, undefined],
    ['stop', {}, undefined],
    ['length', { stop_reason: 'END' }, undefined],
  ])('ends with %s and %j before the stop sequence %s', (reason, told, stopSequence) => {
    const last = { index: 0, delta: {}, finish_reason: reason, ...told };
    const chunks = readAll([{ choices: [last] }], false, ['\n', 'END']);
    expect(chunks).toEqual([
      {
        type: 'finish',
        reason: reason === 'length' ? 'max_output_tokens' : 'stop',
        ...(stopSequence !== undefined && { stopSequence }),
      },
    ]);
  });

  it('takes what was written to a cache, under the name of OpenRouter and that of LiteLLM', async () => {
    for (const name of ['cache_write_tokens', 'cache_creation_tokens']) {
      const prompt_tokens_details = { cached_tokens: 4, [name]: 3 };
      const counts = { prompt_tokens: 9, completion_tokens: 1, prompt_tokens_details };
      expect(readAll([{ ...delta({}, 'stop'), usage: counts }])[0]).toMatchObject({
        usage: { input_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 } },
      });
    }
  });

  it('tells whole calls of Ollama apart that share one index, and takes usage from the last choice', () => {
    expect(readAll(recorded('ollama-whole-tool-calls'))).toEqual([
      { type: 'function_call', callKey: '0', callId: 'call_aa11', name: 'get_weather' },
      { type: 'function_arguments', callKey: '0', delta: '{"city":"Oslo"}' },
      { type: 'function_call', callKey: '1', callId: 'call_bb22', name: 'get_weather' },
      { type: 'function_arguments', callKey: '1', delta: '{"city":"Rome"}' },
      usage(160, 31),
      { type: 'finish', reason: 'function_call' },
    ]);
  });

  it('reads text of OpenAI with logprobs when they were asked for', () => {
    const top = { token: 'Hi', logprob: -0.03, bytes: [72, 105] };
    expect(readAll(recorded('openai-chat-text-with-logprobs'), true)).toEqual([
      { type: 'text', delta: 'Hi', logprobs: [{ ...top, top_logprobs: [top] }] },
      { type: 'text', delta: '!', logprobs: [{ token: '!', logprob: -0.5, bytes: [33], top_logprobs: [] }] },
      usage(9, 2, { cached: 4 }),
      { type: 'finish', reason: 'stop' },
    ]);
    expect(readAll(recorded('openai-chat-text-with-logprobs'))[0]).toEqual({ type: 'text', delta: 'Hi' });
  });
});

describe('ChatReader', () => {
  const stop = delta({}, 'stop');

  it('reads logprobs of a token that has no text of its own', () => {
    const logprob = { token: '\\xf0', logprob: -1, bytes: [240], top_logprobs: [] };
    const half = { choices: [{ index: 0, delta: { content: '' }, logprobs: { content: [logprob] } }] };
    expect(readAll([half, stop], true)[0]).toEqual({ type: 'text', delta: '', logprobs: [logprob] });
    expect(readAll([half, stop])).toEqual([{ type: 'finish', reason: 'stop' }]);
  });

  it('takes reasoning under either name once', () => {
    const both = delta({ reasoning_content: 'a', reasoning: 'a' });
    const events = [both, delta({ reasoning: 'b' }), delta({ reasoning_content: 'c' }), stop];
    const read = readAll(events).filter((chunk) => chunk.type === 'reasoning_text');
    expect(read.map((chunk) => chunk.delta).join('')).toBe('abc');
  });

  it.each<[string, object[], object[]]>([
    ['reasoning', [delta({ reasoning_content: 'Hm' })], [{ type: 'reasoning_text', delta: 'Hm' }]],
    [
      'a call',
      [delta({ content: ' ', tool_calls: [{ index: 0, function: { name: 'f', arguments: '{}' } }] })],
      [
        { type: 'function_call', callKey: '0', name: 'f' },
        { type: 'function_arguments', callKey: '0', delta: '{}' },
      ],
    ],
    [
      'a call without arguments',
      [piece({ index: 0, function: { name: 'f' } })],
      [
        { type: 'function_call', callKey: '0', name: 'f' },
        { type: 'function_arguments', callKey: '0', delta: '{}' },
      ],
    ],
  ])('leaves out white space before %s', (_what, events, chunks) => {
    const blank = [delta({ content: '\n' }), delta({ content: ' ' })];
    expect(readAll([...blank, ...events, stop])).toEqual([...chunks, { type: 'finish', reason: 'stop' }]);
  });

  it('keeps white space before a text or a refusal, in between and alone', () => {
    const finish = { type: 'finish', reason: 'stop' };
    const blank = { type: 'text', delta: '\n' };
    const text = { type: 'text', delta: '{}' };
    const [white, said] = [delta({ content: '\n' }), delta({ content: '{}' })];
    expect(readAll([white, said, white, said, stop])).toEqual([blank, text, blank, text, finish]);
    expect(readAll([white, delta({ refusal: 'No' }), stop])[0]).toEqual(blank);
    expect(readAll([white, white, stop])).toEqual([blank, blank, finish]);
    expect(readAll([delta({ content: '\n' }, 'stop')])).toEqual([blank, finish]);
  });

  it('reads citations of pages on the web, in either form', () => {
    const cited = { url: 'https://example.com/', start_index: 1, end_index: 2, title: 'E' };
    const annotations = [
      { type: 'url_citation', url_citation: cited },
      { type: 'file', file: { name: 'a.pdf' } },
      { type: 'url_citation', ...cited },
    ];
    const annotation = { type: 'annotation', annotation: { type: 'url_citation', ...cited } };
    expect(readAll([delta({ content: 'Hi', annotations }), stop]).slice(0, -1)).toEqual([
      { type: 'text', delta: 'Hi' },
      annotation,
      annotation,
    ]);
  });

  it('reads refusals', () => {
    expect(readAll([delta({ refusal: 'No' }), stop])[0]).toEqual({ type: 'refusal', delta: 'No' });
  });

  it('opens a call once a name in pieces is whole', () => {
    const events = [
      piece({ index: 0, id: 'c1', function: { name: 'get_' } }),
      piece({ index: 0, function: { name: 'weather', arguments: '' } }),
      piece({ index: 0, function: { arguments: '{}' } }),
      delta({}, 'tool_calls'),
    ];
    expect(readAll(events)).toEqual([
      { type: 'function_call', callKey: '0', callId: 'c1', name: 'get_weather' },
      { type: 'function_arguments', callKey: '0', delta: '{}' },
      { type: 'finish', reason: 'function_call' },
    ]);
  });

  it('does not double a name that comes with every piece', () => {
    const events = [
      piece({ index: 0, id: 'c1', function: { name: 'f', arguments: '' } }),
      piece({ index: 0, id: 'c1', function: { name: 'f', arguments: '{"a"' } }),
      piece({ index: 0, id: 'c1', function: { name: 'f', arguments: ':1}' } }),
      delta({}, 'tool_calls'),
    ];
    expect(
      readAll(events).map((chunk) => ('name' in chunk ? chunk.name : 'delta' in chunk ? chunk.delta : '')),
    ).toEqual(['f', '{"a"', ':1}', '']);
  });

  it('copes without indices, without ids and with arguments as an object', () => {
    const events = [
      piece({ function: { name: 'f', arguments: { a: 1 } } }),
      piece({ function: { name: 'g' } }),
      piece({ function: { arguments: '{"b":' } }),
      piece({ function: { arguments: '2}' } }),
      delta({}, 'tool_calls'),
    ];
    expect(readAll(events)).toEqual([
      { type: 'function_call', callKey: '0', name: 'f' },
      { type: 'function_arguments', callKey: '0', delta: '{"a":1}' },
      { type: 'function_call', callKey: '1', name: 'g' },
      { type: 'function_arguments', callKey: '1', delta: '{"b":' },
      { type: 'function_arguments', callKey: '1', delta: '2}' },
      { type: 'finish', reason: 'function_call' },
    ]);
  });

  it('keeps arguments that come before the name', () => {
    const events = [
      piece({ index: 0, id: 'c1', function: { arguments: '{"a":' } }),
      piece({ index: 0, function: { name: 'f', arguments: '1}' } }),
      delta({}, 'tool_calls'),
    ];
    expect(readAll(events).slice(1, 3)).toEqual([
      { type: 'function_arguments', callKey: '0', delta: '{"a":' },
      { type: 'function_arguments', callKey: '0', delta: '1}' },
    ]);
  });

  it('gives a call without arguments the empty object', () => {
    const events = [piece({ index: 0, id: 'c1', function: { name: 'f' } }), delta({}, 'tool_calls')];
    expect(readAll(events)[1]).toEqual({ type: 'function_arguments', callKey: '0', delta: '{}' });
  });

  it('passes on no call id twice and none that a client could not send back', () => {
    const events = [
      piece({ index: 0, id: 'c1', function: { name: 'f', arguments: '{}' } }),
      piece({ index: 1, id: 'c1', function: { name: 'g', arguments: '{}' } }),
      piece({ index: 2, id: 'x'.repeat(65), function: { name: 'h', arguments: '{}' } }),
      delta({}, 'tool_calls'),
    ];
    const ids = readAll(events).flatMap((chunk) => (chunk.type === 'function_call' ? [chunk.callId] : []));
    expect(ids).toEqual(['c1', undefined, undefined]);
  });

  it('reads the call of an older server', () => {
    const events = [
      delta({ function_call: { name: 'f', arguments: '{' } }),
      delta({ function_call: { arguments: '}' } }),
      delta({}, 'function_call'),
    ];
    expect(readAll(events)[0]).toEqual({ type: 'function_call', callKey: '0', name: 'f' });
  });

  it('ignores fields it does not know, other choices and chunks without any', () => {
    const events = [
      { object: 'ping' },
      { choices: [], prompt_filter_results: [{}] },
      { choices: [{ index: 1, delta: { content: 'other' } }] },
      { ...delta({ content: 'a', annotations: [], audio: null, novelty: { x: 1 } }), novelty: 1 },
      stop,
      '[DONE]',
    ];
    expect(readAll(events)).toEqual([
      { type: 'text', delta: 'a' },
      { type: 'finish', reason: 'stop' },
    ]);
  });

  it('takes the content filter as a finish', () => {
    expect(readAll([delta({ content: 'a' }, 'content_filter')]).at(-1)).toEqual({
      type: 'finish',
      reason: 'content_filter',
    });
  });

  it.each<[string, unknown[]]>([
    ['the end without a finish reason', [delta({ content: 'a' })]],
    ['[DONE] without a finish reason', [delta({ content: 'a' }), '[DONE]']],
    ['broken JSON', ['{"choices":[']],
    ['JSON that is no object', ['"hello"']],
    ['choices that are no list', [{ choices: {} }]],
    ['content that is no text', [delta({ content: { a: 1 } })]],
    ['an error object', [{ error: { message: 'boom' } }]],
    ['an error inside a choice', [{ choices: [{ index: 0, error: { code: 502 }, finish_reason: 'error' }] }]],
    ['a finish that is an abort', [delta({ content: 'a' }, 'abort')]],
    [
      'a call that never got a name',
      [piece({ index: 0, function: { arguments: '{}' } }), delta({}, 'tool_calls')],
    ],
  ])('fails on %s', (_, events) => {
    expect(() => readAll(events)).toThrowError(upstreamError);
  });
});

describe('what an answer costs', () => {
  const upTo = (count: number, make: (at: number) => object) =>
    Array.from({ length: count }, (_, at) => make(at));
  const named = { name: 'f', arguments: '{}' };

  it.each<[string, (count: number) => object[]]>([
    [
      'calls with an index',
      (count) => upTo(count, (index) => piece({ index, id: `c${index}`, function: named })),
    ],
    ['calls with an id alone', (count) => upTo(count, (at) => piece({ id: `c${at}`, function: named }))],
    [
      'calls without a name',
      (count) => upTo(count, (index) => piece({ index, function: { arguments: '{}' } })),
    ],
    [
      'calls of which every one is followed by text',
      (count) =>
        upTo(count, (index) => delta({ content: 'a', tool_calls: [{ index, function: { name: 'f' } }] })),
    ],
    [
      'finish reasons behind calls',
      (count) => [
        ...upTo(count, (index) => piece({ index, id: `c${index}`, function: named })),
        ...upTo(count, () => delta({}, 'tool_calls')),
      ],
    ],
  ])('grows with the number of %s, and not with its square', (_, answer) => {
    const values = answer(24_000);
    const events = values.map((event) => ({ name: undefined, data: JSON.stringify(event) }));
    const read = () => {
      const reader = new ChatReader('up', false);
      return () => events.forEach((event) => reader.read(event));
    };
    expect(costAgainstParsing(values, read)).toBeLessThan(30);
  });

  it('leaves room for more calls without arguments than a call of a function could take', () => {
    const calls = upTo(150_000, (index) => ({ index, function: { name: 'f' } }));
    const chunks = readAll([delta({ tool_calls: calls }, 'tool_calls')]);
    expect(chunks.filter(({ type }) => type === 'function_arguments')).toHaveLength(calls.length);
  });
});
