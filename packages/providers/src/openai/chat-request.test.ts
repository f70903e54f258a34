import { type Generation, parseCreateResponse } from '@sluice/contract';
import { costAgainstParsing } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { type ChatRequestOptions, chatRequestBody } from './chat-request.ts';

const options = {
  providerId: 'up',
  fetchesUrls: false,
  maxTokensField: 'max_tokens',
  isOpenAi: false,
} as const;
const weather = { type: 'function', name: 'get_weather', parameters: { type: 'object' } };
const image = 'data:image/png;base64,AAAA';

function bodyOf(request: object, settings: Partial<ChatRequestOptions> = {}) {
  // Nothing here is sealed, so the context is the input.
  const generation = parseCreateResponse({ model: 'm', ...request }) as Generation;
  return chatRequestBody(generation, 'upstream-model', { ...options, ...settings });
}
const messagesOf = (request: object) => bodyOf(request)['messages'];
const user = (text: string) => ({ type: 'message', role: 'user', content: text });
const call = (id: string, name = 'get_weather') => ({
  type: 'function_call',
  call_id: id,
  name,
  arguments: '{}',
});
const output = (id: string, value: unknown = 'sunny') => ({
  type: 'function_call_output',
  call_id: id,
  output: value,
});
const toolCall = (id: string) => ({
  id,
  type: 'function',
  function: { name: 'get_weather', arguments: '{}' },
});

describe('chatRequestBody', () => {
  it('sends what every request has and no sampling member the client did not choose', () => {
    expect(bodyOf({ input: 'Hi' })).toEqual({
      model: 'upstream-model',
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('sends the sampling members the client chose under their chat names', () => {
    const body = bodyOf({
      input: 'Hi',
      temperature: 0,
      top_p: 0.5,
      presence_penalty: 1,
      frequency_penalty: -1,
      max_output_tokens: 100,
      reasoning: { effort: 'minimal' },
      include: ['message.output_text.logprobs'],
      top_logprobs: 3,
      user: 'u',
      prompt_cache_key: 'k',
    });
    expect(body).toMatchObject({
      temperature: 0,
      top_p: 0.5,
      presence_penalty: 1,
      frequency_penalty: -1,
      max_tokens: 100,
      reasoning_effort: 'low',
      logprobs: true,
      top_logprobs: 3,
      user: 'u',
    });
    expect(body).not.toHaveProperty('prompt_cache_key');
  });

  it('sends to OpenAI what other servers may refuse', () => {
    const own = { text: { verbosity: 'high' }, prompt_cache_key: 'k', safety_identifier: 's' };
    const request = { input: 'Hi', ...own };
    const expected = { verbosity: 'high', prompt_cache_key: 'k', safety_identifier: 's' };
    expect(bodyOf(request, { isOpenAi: true })).toMatchObject(expected);
    expect(Object.keys(bodyOf(request))).toEqual(Object.keys(bodyOf({ input: 'Hi' })));
    expect(bodyOf({ input: 'Hi', text: { verbosity: null } }, { isOpenAi: true })).not.toHaveProperty(
      'verbosity',
    );
  });

  it('asks for no logprobs unless they are included', () => {
    expect(bodyOf({ input: 'Hi', top_logprobs: 3 })).not.toHaveProperty('top_logprobs');
  });

  it('puts instructions first, in one system message with those that open the conversation', () => {
    const input = [
      { role: 'system', content: 'Be kind.' },
      { role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
      user('Hi'),
      { role: 'developer', content: 'Be quick.' },
    ];
    expect(messagesOf({ instructions: 'Be good.', input })).toEqual([
      { role: 'system', content: 'Be good.\n\nBe kind.\n\nBe brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'system', content: 'Be quick.' },
    ]);
  });

  it('sends parts of the user as parts', () => {
    const content = [
      { type: 'input_text', text: 'Look' },
      { type: 'input_image', image_url: image, detail: 'original' },
      { type: 'input_file', filename: 'a.pdf', file_data: 'JVBERi0=' },
    ];
    expect(messagesOf({ input: [{ role: 'user', content }] })).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: image, detail: 'auto' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
        ],
      },
    ]);
  });

  it('joins what the assistant said and called between two turns of others', () => {
    const input = [
      user('Weather?'),
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Looking.' }], phase: 'commentary' },
      call('c1'),
      call('c2'),
      output('c2', 'rain'),
      output('c1'),
      { role: 'assistant', content: 'Sun and rain.' },
    ];
    expect(messagesOf({ input })).toEqual([
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: 'Looking.', tool_calls: [toolCall('c1'), toolCall('c2')] },
      { role: 'tool', tool_call_id: 'c2', content: 'rain' },
      { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
      { role: 'assistant', content: 'Sun and rain.' },
    ]);
  });

  it('puts an output right behind its call, wherever it stood', () => {
    expect(messagesOf({ input: [call('c1'), user('Still there?'), output('c1')] })).toEqual([
      { role: 'assistant', content: null, tool_calls: [toolCall('c1')] },
      { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
      { role: 'user', content: 'Still there?' },
    ]);
  });

  it('begins a new round with a call after an output, also under the same id', () => {
    expect(messagesOf({ input: [call('c1'), output('c1', 'one'), call('c1'), output('c1', 'two')] })).toEqual(
      [
        { role: 'assistant', content: null, tool_calls: [toolCall('c1')] },
        { role: 'tool', tool_call_id: 'c1', content: 'one' },
        { role: 'assistant', content: null, tool_calls: [toolCall('c1')] },
        { role: 'tool', tool_call_id: 'c1', content: 'two' },
      ],
    );
  });

  it('shows media of outputs in a message of the user behind all outputs', () => {
    const parts = [
      { type: 'input_text', text: 'A map' },
      { type: 'input_image', image_url: image },
    ];
    expect(messagesOf({ input: [call('c1'), call('c2'), output('c1', parts), output('c2')] })).toEqual([
      { role: 'assistant', content: null, tool_calls: [toolCall('c1'), toolCall('c2')] },
      { role: 'tool', tool_call_id: 'c1', content: 'A map' },
      { role: 'tool', tool_call_id: 'c2', content: 'sunny' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Attached to the output of c1:' },
          { type: 'image_url', image_url: { url: image } },
        ],
      },
    ]);
  });

  it('turns an output without a call id into text', () => {
    const input = [{ type: 'function_call_output', call_id: null, name: 'lookup', output: '42' }];
    expect(messagesOf({ input })).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: "Output of the tool 'lookup':" },
          { type: 'text', text: '42' },
        ],
      },
    ]);
  });

  it('maps custom tool calls to function calls and leaves out items of hosted tools', () => {
    const input = [
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      { type: 'custom_tool_call', call_id: 'c1', name: 'shell', input: 'ls' },
      { type: 'custom_tool_call_output', call_id: 'c1', output: 'a b' },
    ];
    expect(messagesOf({ input })).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'shell', arguments: '{"input":"ls"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'a b' },
    ]);
  });

  it('sends a custom tool as a function with one text', () => {
    const custom = { type: 'custom', name: 'shell', description: 'Runs a command.' };
    const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: /a+/' };
    const tools = [custom, { type: 'custom', name: 'patch', format: grammar }];
    const parameters = expect.objectContaining({ required: ['input'], additionalProperties: false });
    expect(bodyOf({ input: 'Hi', tools, tool_choice: { type: 'custom', name: 'patch' } })).toMatchObject({
      tools: [
        { type: 'function', function: { name: 'shell', description: 'Runs a command.', parameters } },
        {
          type: 'function',
          function: { name: 'patch', description: expect.stringContaining('start: /a+/') },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'patch' } },
    });
  });

  it('sends tools and a named choice', () => {
    const body = bodyOf({
      input: 'Hi',
      tools: [{ ...weather, strict: true, description: null }],
      tool_choice: { type: 'function', name: 'get_weather' },
      parallel_tool_calls: false,
    });
    expect(body['tools']).toEqual([
      { type: 'function', function: { name: 'get_weather', parameters: { type: 'object' }, strict: true } },
    ]);
    expect(body['tool_choice']).toEqual({ type: 'function', function: { name: 'get_weather' } });
    expect(body['parallel_tool_calls']).toBe(false);
  });

  it('shows only the tools of an allowed set, with its mode as the choice', () => {
    const body = bodyOf({
      input: 'Hi',
      tools: [weather, { type: 'function', name: 'get_time' }],
      tool_choice: {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'function', name: 'get_time' }],
      },
    });
    expect(body['tools']).toEqual([{ type: 'function', function: { name: 'get_time' } }]);
    expect(body['tool_choice']).toBe('required');
  });

  it('sends no tool members without tools, as upstreams refuse a choice of nothing', () => {
    const body = bodyOf({ input: 'Hi', tool_choice: 'auto', parallel_tool_calls: true });
    expect(Object.keys(body)).not.toContain('tool_choice');
    expect(Object.keys(body)).not.toContain('parallel_tool_calls');
  });

  it.each([
    [{ type: 'text' }, undefined],
    [{ type: 'json_object' }, { type: 'json_object' }],
    [
      { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true },
      { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: true } },
    ],
  ])('sends the format %j as %j', (format, expected) => {
    expect(bodyOf({ input: 'Hi', text: { format } })['response_format']).toEqual(expected);
  });

  it('sends reasoning back with what followed it, under the name that the operator gives', () => {
    const thought = (text: string) => ({
      type: 'reasoning',
      summary: [],
      content: [{ type: 'reasoning_text', text }],
    });
    const input = [
      user('Hi'),
      thought('First I look.'),
      call('c1'),
      output('c1'),
      thought('So it'),
      thought('is sunny.'),
      { role: 'assistant', content: 'Sunny.' },
      thought('Nothing follows.'),
    ];
    for (const reasoningField of ['reasoning', 'reasoning_content'] as const) {
      const messages = bodyOf({ input }, { reasoningField })['messages'];
      expect(messages).toMatchObject([
        { role: 'user' },
        { role: 'assistant', content: null, tool_calls: [{}], [reasoningField]: 'First I look.' },
        { role: 'tool' },
        {
          role: 'assistant',
          content: 'Sunny.',
          [reasoningField]: expect.stringMatching(/^So it\n\nis sunny/),
        },
      ]);
    }
    expect(
      bodyOf({ input: [user('Hi'), thought('Alone.')] }, { reasoningField: 'reasoning' })['messages'],
    ).toEqual([{ role: 'user', content: 'Hi' }]);
    expect(JSON.stringify(messagesOf({ input }))).not.toContain('sunny.');
  });

  it('refuses URLs of media for an upstream that may not fetch', () => {
    const content = [{ type: 'input_image', image_url: 'https://example.com/a.png' }];
    const request = { input: [{ role: 'user', content }] };
    expect(() => bodyOf(request)).toThrowError(expect.objectContaining({ code: 'invalid_prompt' }));
    expect(() => bodyOf(request, { fetchesUrls: true })).not.toThrow();
  });

  it('sends media in the output of a tool behind it, or refuses them as it does elsewhere', () => {
    const withOutput = (...parts: object[]) => ({
      input: [
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: parts },
      ],
    });
    const file = { type: 'input_file', filename: 'a.pdf', file_data: 'JVBERi0=' };
    const video = { type: 'input_video', video_url: 'data:video/mp4;base64,AAAA' };
    expect(messagesOf(withOutput({ type: 'input_text', text: 'Two.' }, file, video))).toEqual([
      expect.objectContaining({ role: 'assistant' }),
      { role: 'tool', tool_call_id: 'c1', content: 'Two.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Attached to the output of c1:' },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
          { type: 'video_url', video_url: { url: 'data:video/mp4;base64,AAAA' } },
        ],
      },
    ]);
    const remote = { type: 'input_file', file_url: 'https://example.com/a.pdf' };
    expect(() => bodyOf(withOutput(remote), { fetchesUrls: true })).toThrowError(
      expect.objectContaining({ code: 'invalid_prompt', param: 'input' }),
    );
  });

  it('refuses a file that is only a URL, which this API cannot carry', () => {
    const content = [{ type: 'input_file', file_url: 'https://example.com/a.pdf' }];
    expect(() => bodyOf({ input: [{ role: 'user', content }] }, { fetchesUrls: true })).toThrowError(
      expect.objectContaining({ code: 'invalid_prompt', disposition: 'fail' }),
    );
  });
});

describe('marks for caches', () => {
  const marked = (members: object, breakpoints: object[], takesCacheMarks = true) => {
    const generation = parseCreateResponse({ model: 'm', ...members });
    const asked = { ...generation, cache_breakpoints: breakpoints } as Generation;
    return chatRequestBody(asked, 'm', { ...options, takesCacheMarks });
  };
  const mark = (ttl?: string) => ({ cache_control: { type: 'ephemeral', ...(ttl && { ttl }) } });
  const part = (text: string) => ({ type: 'input_text', text });
  const system = { type: 'message', role: 'system', content: [part('Be brief.'), part('Be kind.')] };
  const said = {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'Let me see.' }],
  };

  it('stand at parts of messages, calls and outputs', () => {
    const { messages } = marked({ input: [system, user('Look.'), said, call('c1'), output('c1')] }, [
      { at: 'input', index: 0, part: 0, ttl: '1h' },
      { at: 'input', index: 1 },
      { at: 'input', index: 3 },
      { at: 'input', index: 4 },
    ]);
    expect(messages).toEqual([
      {
        role: 'system',
        content: [
          { type: 'text', text: 'Be brief.', ...mark('1h') },
          { type: 'text', text: 'Be kind.' },
        ],
      },
      { role: 'user', content: [{ type: 'text', text: 'Look.', ...mark() }] },
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'Let me see.' }],
        tool_calls: [{ ...toolCall('c1'), ...mark() }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'sunny', ...mark() },
    ]);
  });

  it('stand behind the media of an output', () => {
    const media = output('c1', [part('Here.'), { type: 'input_image', image_url: image }]);
    const { messages } = marked({ input: [user('Look.'), call('c1'), media] }, [{ at: 'input', index: 2 }]);
    expect(messages).toMatchObject([
      { role: 'user', content: 'Look.' },
      { role: 'assistant' },
      { role: 'tool', content: 'Here.' },
      { role: 'user', content: [{ type: 'text' }, { type: 'image_url', ...mark() }] },
    ]);
  });

  it('stand behind an output without its call, which is a message', () => {
    const { messages } = marked({ input: [output('gone', [part('Here.')])] }, [
      { at: 'input', index: 0, part: 0 },
    ]);
    expect(messages).toMatchObject([
      { content: [{ text: 'Output of a tool:' }, { text: 'Here.', ...mark() }] },
    ]);
  });

  it('stand at tools', () => {
    const { tools } = marked({ input: 'Hi', tools: [weather] }, [{ at: 'tool', index: 0, ttl: '5m' }]);
    expect(tools).toMatchObject([{ type: 'function', ...mark('5m') }]);
  });

  it('are not sent to servers that are not said to take them', () => {
    const asked = { input: [system, user('Look.')], tools: [weather] };
    expect(marked(asked, [{ at: 'input', index: 0, part: 0 }], false)).toEqual({
      ...bodyOf(asked),
      model: 'm',
    });
  });
});

describe('what a prompt costs', () => {
  const upTo = (count: number, make: (at: number) => object) =>
    Array.from({ length: count }, (_, at) => make(at));
  const message = (role: string) => () => ({ type: 'message', role, content: 'Hm' });

  it.each([
    ['calls in a row', upTo(48_000, (at) => call(`c${at}`))],
    ['texts of the assistant in a row', upTo(48_000, message('assistant'))],
    ['texts of the system in a row', upTo(48_000, message('system'))],
  ])('grows with the number of %s, and not with its square', (_, input) => {
    const asked = { input, cache_breakpoints: [{ at: 'input', index: 0 }] } as unknown as Generation;
    const build = () => () => void chatRequestBody(asked, 'm', { ...options, takesCacheMarks: true });
    expect(costAgainstParsing(input, build)).toBeLessThan(50);
  });
});

describe('a prompt that has very much of one thing', () => {
  const many = 200_000;

  it('has the outputs of a call behind it, however many', () => {
    const input = [call('c'), ...Array.from({ length: many }, () => output('c'))];
    const body = chatRequestBody({ input } as unknown as Generation, 'm', options);
    expect(body['messages']).toHaveLength(many + 1);
  });

  it('has the media of an output behind it, however many', () => {
    const media = Array.from({ length: many }, () => ({ type: 'input_image', image_url: image }));
    const [, , attached] = messagesOf({ input: [call('c'), output('c', media)] }) as { content: object[] }[];
    expect(attached?.content).toHaveLength(many + 1);
  });
});
