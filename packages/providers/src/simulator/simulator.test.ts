import { estimateTokens, type Generation, parseCreateResponse } from '@sluice/contract';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ProviderCall, ProviderChunk } from '../provider.ts';
import { simulator, type SimulatorSettings } from './simulator.ts';

interface Asked {
  settings?: Partial<SimulatorSettings>;
  call?: Partial<ProviderCall>;
}

async function ask(
  request: Record<string, unknown>,
  { settings = {}, call = {} }: Asked = {},
): Promise<ProviderChunk[]> {
  const chunks: ProviderChunk[] = [];
  await askInto(chunks, request, { settings, call });
  return chunks;
}

async function askInto(
  chunks: ProviderChunk[],
  { stop, ...request }: { stop?: string[]; [member: string]: unknown },
  { settings, call }: Asked,
): Promise<void> {
  const generation: Generation = {
    ...parseCreateResponse({ model: 'm', ...request }),
    ...(stop && { stop }),
  };
  const provider = simulator({ type: 'simulator', id: 'sim', ...settings });
  const signal = new AbortController().signal;
  const stream = provider.generate(generation, { model: 'm', signal, responseId: 'r', attempt: 1, ...call });
  for await (const chunk of stream) chunks.push(chunk);
}

const deltas = (chunks: ProviderChunk[], type: ProviderChunk['type'] = 'text') =>
  chunks.flatMap((chunk) => (chunk.type === type && 'delta' in chunk ? [chunk.delta] : []));
const textOf = (chunks: ProviderChunk[]) => deltas(chunks).join('');
const finishOf = (chunks: ProviderChunk[]) => chunks.at(-1);
const usageOf = (chunks: ProviderChunk[]) => chunks.find((chunk) => chunk.type === 'usage')?.usage;

const callsIn = (chunks: ProviderChunk[]) =>
  chunks.flatMap((chunk) => (chunk.type === 'function_call' ? [chunk.name] : []));

const weatherSchema = {
  type: 'object',
  properties: { location: { type: 'string' }, unit: { enum: ['celsius', 'fahrenheit'] } },
  required: ['location', 'unit'],
};
const weather = { type: 'function', name: 'get_weather', parameters: weatherSchema };
const clock = { type: 'function', name: 'get_time' };

describe('text', () => {
  it('answers to what the user said last', async () => {
    const chunks = await ask({
      input: [
        { role: 'user', content: 'Something else' },
        { role: 'assistant', content: 'Yes' },
        { role: 'user', content: 'Where does the river end?' },
      ],
    });
    expect(textOf(chunks)).toContain('Where does the river end?');
    expect(textOf(chunks)).not.toContain('Something else');
    expect(finishOf(chunks)).toEqual({ type: 'finish', reason: 'stop' });
  });

  it('is the same for the same request and another for another seed', async () => {
    const request = { input: 'Tell me a story' };
    const first = await ask(request);
    expect(await ask(request)).toEqual(first);
    const others = await Promise.all([2, 3, 4, 5].map((seed) => ask(request, { settings: { seed } })));
    expect(others.some((other) => textOf(other) !== textOf(first))).toBe(true);
  });

  it('counts a delta as a token, and the prompt by its length', async () => {
    const chunks = await ask({ input: 'Hi there' });
    const usage = usageOf(chunks);
    expect(usage?.output_tokens).toBe(deltas(chunks).length);
    expect(usage?.input_tokens).toBeGreaterThanOrEqual(estimateTokens('Hi there'));
    expect(usage?.total_tokens).toBe((usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0));
  });

  it('stops at max_output_tokens', async () => {
    const chunks = await ask({ input: '[[sluice: tokens=100]] Go on', max_output_tokens: 16 });
    expect(deltas(chunks)).toHaveLength(16);
    expect(finishOf(chunks)).toEqual({ type: 'finish', reason: 'max_output_tokens' });
  });

  it('ends before a stop sequence, also in what a directive adds, and in JSON', async () => {
    const whole = textOf(await ask({ input: '[[sluice: tokens=200]]' }));
    for (const stop of ['the gate until', 'room for it. W', whole.slice(0, 3), 'nowhere']) {
      const chunks = await ask({ input: '[[sluice: tokens=200]]', stop: ['not there', stop] });
      expect(textOf(chunks)).toBe(whole.split(stop)[0]);
      const told = whole.includes(stop) ? { stopSequence: stop } : {};
      expect(finishOf(chunks)).toEqual({ type: 'finish', reason: 'stop', ...told });
      expect(usageOf(chunks)?.output_tokens).toBe(deltas(chunks).length);
    }
    const json = { input: 'Hi', text: { format: { type: 'json_object' } } };
    expect(textOf(await ask({ ...json, stop: ['swer":'] }))).toBe('{"an');
  });

  it('completes an answer that is exactly as long as it may be', async () => {
    const chunks = await ask({ input: '[[sluice: tokens=16]]', max_output_tokens: 16 });
    expect(finishOf(chunks)).toEqual({ type: 'finish', reason: 'stop' });
  });

  it('mentions attachments', async () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' };
    const content = [{ type: 'input_text', text: 'Look' }, image];
    expect(textOf(await ask({ input: [{ role: 'user', content }] }))).toContain('attachment');
  });
});

describe('reasoning', () => {
  it.each([
    [{ reasoning: { effort: 'low' } }, {}],
    [{ reasoning: { summary: 'auto' } }, {}],
    [{}, { reasoning: true }],
  ])('comes first for %j with settings %j', async (request, settings) => {
    const chunks = await ask({ input: 'Hi', ...request }, { settings });
    expect(chunks[0]?.type).toBe('reasoning_summary');
    const thought = deltas(chunks, 'reasoning_summary').length;
    expect(usageOf(chunks)?.output_tokens_details.reasoning_tokens).toBe(thought);
  });

  it('is left out otherwise, and when the effort is none', async () => {
    expect(deltas(await ask({ input: 'Hi' }), 'reasoning_summary')).toEqual([]);
    const none = { input: 'Hi', reasoning: { effort: 'none' } };
    expect(deltas(await ask(none, { settings: { reasoning: true } }), 'reasoning_summary')).toEqual([]);
  });
});

describe('tools', () => {
  const tools = [weather, clock];

  it.each([
    ['its name', 'Please use get_weather now', 'auto', ['get_weather']],
    ['what its name is about', "What's the weather like in Oslo?", 'auto', ['get_weather']],
    ['both', 'Tell me the weather and the time', 'auto', ['get_weather', 'get_time']],
    ['neither', 'Hello', 'auto', []],
    ['neither, on demand', 'Hello', 'required', ['get_weather']],
    ['one, on demand', 'What time is it?', 'required', ['get_time']],
    ['one, where calls are forbidden', 'What time is it?', 'none', []],
    [
      'another than the named one',
      'What time is it?',
      { type: 'function', name: 'get_weather' },
      ['get_weather'],
    ],
    [
      'one outside the allowed set',
      'What time is it?',
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'get_weather' }] },
      [],
    ],
  ])('are called when the text has %s', async (_, input, tool_choice, expected) => {
    const chunks = await ask({ input, tools, tool_choice });
    expect(callsIn(chunks)).toEqual(expected);
    const reason = expected.length > 0 ? 'function_call' : 'stop';
    expect(finishOf(chunks)).toEqual({ type: 'finish', reason });
  });

  it('get arguments that satisfy their schema', async () => {
    const chunks = await ask({ input: 'Weather?', tools });
    const args: unknown = JSON.parse(deltas(chunks, 'function_arguments').join(''));
    expect(new Ajv2020().compile(weatherSchema)(args)).toBe(true);
  });

  it('are called one at a time when parallel calls are switched off', async () => {
    const input = 'Tell me the weather and the time';
    expect(callsIn(await ask({ input, tools, parallel_tool_calls: false }))).toEqual(['get_weather']);
  });

  it('have their output in the answer that follows', async () => {
    const input = [
      { role: 'user', content: "What's the weather?" },
      { type: 'function_call', call_id: 'c1', name: 'get_weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'light rain, 4 degrees' },
    ];
    const chunks = await ask({ input, tools });
    expect(callsIn(chunks)).toEqual([]);
    expect(textOf(chunks)).toContain('get_weather');
    expect(textOf(chunks)).toContain('light rain, 4 degrees');
  });
});

describe('formats', () => {
  it('gets a value of a schema', async () => {
    const schema = { ...weatherSchema, additionalProperties: false };
    const format = { type: 'json_schema', name: 'weather', schema, strict: true };
    const text = textOf(await ask({ input: 'Hi', text: { format } }));
    expect(new Ajv2020().compile(schema)(JSON.parse(text))).toBe(true);
  });

  it('gets an object where any will do', async () => {
    const format = { type: 'json_object' };
    const value: unknown = JSON.parse(textOf(await ask({ input: 'Hi "you"', text: { format } })));
    expect(value).toBeTypeOf('object');
  });
});

describe('directives', () => {
  it('set the length', async () => {
    expect(deltas(await ask({ input: '[[sluice: tokens=200]] Hi' }))).toHaveLength(200);
    expect(deltas(await ask({ input: '[[sluice: tokens=3]] Hi' }))).toHaveLength(3);
  });

  it('are not part of what is answered', async () => {
    expect(textOf(await ask({ input: 'Hi [[sluice: tokens=40]]' }))).not.toContain('sluice:');
  });

  it('refuse', async () => {
    const chunks = await ask({ input: '[[sluice: refuse]]' });
    expect(deltas(chunks, 'refusal').length).toBeGreaterThan(0);
    expect(deltas(chunks)).toEqual([]);
  });

  it('choose how it ends', async () => {
    expect(finishOf(await ask({ input: '[[sluice: stop=content_filter]]' }))).toEqual({
      type: 'finish',
      reason: 'content_filter',
    });
  });

  it.each([
    ['upstream_error', 'retry'],
    ['server_is_overloaded', 'retry'],
    ['context_length_exceeded', 'fail'],
  ])('fail with %s', async (code, disposition) => {
    const chunks: ProviderChunk[] = [];
    const asked = askInto(chunks, { input: `[[sluice: fail=${code}]]`, reasoning: { effort: 'low' } }, {});
    await expect(asked).rejects.toMatchObject({ name: 'ProviderError', code, disposition });
    expect(chunks).toEqual([]);
  });

  it('fail after some tokens', async () => {
    const chunks: ProviderChunk[] = [];
    const asked = askInto(chunks, { input: '[[sluice: fail=server_error after=3]]' }, {});
    await expect(asked).rejects.toMatchObject({ code: 'server_error' });
    expect(deltas(chunks)).toHaveLength(3);
  });

  it('fail the first attempts alone', async () => {
    const request = { input: '[[sluice: fail_attempts=1 fail=invalid_prompt]] Hi' };
    await expect(ask(request)).rejects.toMatchObject({ code: 'invalid_prompt', disposition: 'retry' });
    expect(finishOf(await ask(request, { call: { attempt: 2 } }))).toEqual({
      type: 'finish',
      reason: 'stop',
    });
  });

  it.each<[string, object, string[]]>([
    ['a demand for a call', { tools: [clock], tool_choice: 'required' }, []],
    [
      'a named function',
      { tools: [clock, weather], tool_choice: { type: 'function', name: 'get_time' } },
      [],
    ],
    // A call that was not allowed is suppressed, as it is for any other upstream.
    ['a ban of calls', { tools: [clock], tool_choice: 'none' }, []],
  ])('break %s', async (_, members, calls) => {
    const chunks = await ask({ input: '[[sluice: break=tool_choice]] What time is it?', ...members });
    expect(callsIn(chunks)).toEqual(calls);
    expect(finishOf(chunks)).toEqual({ type: 'finish', reason: 'stop' });
  });

  it('make calls that the request may forbid', async () => {
    const request = { input: '[[sluice: break=parallel_calls]] What time is it?', tools: [clock] };
    expect(callsIn(await ask(request))).toEqual(['get_time', 'get_time']);
    expect(callsIn(await ask({ ...request, parallel_tool_calls: false }))).toEqual(['get_time']);
  });

  it('break JSON, in the first attempts alone if they say so', async () => {
    const request = {
      input: '[[sluice: break=json break_attempts=1]]',
      text: { format: { type: 'json_schema', schema: weatherSchema } },
    };
    const broken = textOf(await ask(request));
    expect(() => JSON.parse(broken) as unknown).toThrowError(SyntaxError);
    const whole = textOf(await ask(request, { call: { attempt: 2 } }));
    expect(new Ajv2020().compile(weatherSchema)(JSON.parse(whole))).toBe(true);
  });

  it('break a schema, of the format or of a tool', async () => {
    const satisfies = new Ajv2020().compile(weatherSchema);
    const input = '[[sluice: break=schema]] What is the weather?';
    const format = { type: 'json_schema', schema: weatherSchema };
    expect(satisfies(JSON.parse(textOf(await ask({ input, text: { format } }))))).toBe(false);
    const called = deltas(await ask({ input, tools: [weather] }), 'function_arguments').join('');
    expect(satisfies(JSON.parse(called))).toBe(false);
  });

  it('ignore what they do not know', async () => {
    const chunks = await ask({ input: '[[sluice: tokens=many fail=nothing_known dance]] Hi' });
    expect(finishOf(chunks)).toEqual({ type: 'finish', reason: 'stop' });
  });
});

describe('an abort', () => {
  it.each(['[[sluice: hang]]', '[[sluice: first_token_ms=3600000]]', '[[sluice: hang after=2]]'])(
    'ends %s with its reason',
    async (input) => {
      const abort = new AbortController();
      const asked = ask({ input }, { call: { signal: abort.signal } });
      setImmediate(() => abort.abort(new Error('enough')));
      await expect(asked).rejects.toThrowError('enough');
    },
  );

  it('ends an answer that waits for nothing', async () => {
    const abort = new AbortController();
    const chunks: ProviderChunk[] = [];
    const asked = askInto(
      chunks,
      { input: '[[sluice: tokens=1000000]]' },
      { call: { signal: abort.signal } },
    );
    setImmediate(() => abort.abort(new Error('enough')));
    await expect(asked).rejects.toThrowError('enough');
    expect(chunks.length).toBeLessThan(500_000);
  });

  it('that came before the call lets nothing begin', async () => {
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(ask({ input: 'Hi' }, { call: { signal } })).rejects.toThrowError('too late');
  });
});

describe('speed', () => {
  afterEach(() => vi.useRealTimers());

  it('is what the settings say', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const chunks: ProviderChunk[] = [];
    const settings = { firstTokenMs: 50, tokensPerSecond: 200 };
    const done = askInto(chunks, { input: '[[sluice: tokens=21]]' }, { settings });
    await vi.advanceTimersByTimeAsync(49);
    expect(deltas(chunks)).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(deltas(chunks)).toHaveLength(1);
    // Twenty gaps of 5 ms.
    await vi.advanceTimersByTimeAsync(99);
    expect(deltas(chunks)).toHaveLength(20);
    await vi.advanceTimersByTimeAsync(1);
    await done;
    expect(deltas(chunks)).toHaveLength(21);
  });
});
