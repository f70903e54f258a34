import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { Generation } from '@sluice/contract';
import { costAgainstParsing } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { request } from '../../test/upstream-wires.ts';
import { callOptions } from './call-options.ts';

const options = (members: object, { fetchesUrls = false, specificationVersion = 'v4' } = {}) =>
  callOptions(request(members), { providerId: 'up', fetchesUrls, specificationVersion });
const prompt = (input: unknown, more: object = {}) => options({ input, ...more }).prompt;
const user = (...content: object[]) => [{ type: 'message', role: 'user', content }];
const call = (id: string, args = '{"a":1}') => ({
  type: 'function_call',
  call_id: id,
  name: 'look',
  arguments: args,
});
const output = (id: string, value: unknown) => ({ type: 'function_call_output', call_id: id, output: value });
const text = (value: string) => ({ type: 'text', text: value });
const file = (mediaType: string, filename?: string) => ({
  ...{ type: 'file', ...(filename !== undefined && { filename }) },
  ...{ data: { type: 'data', data: 'aGk=' }, mediaType },
});
const toolResult = (toolCallId: string, value: string) => ({
  ...{ type: 'tool-result', toolCallId, toolName: 'look' },
  output: { type: 'text', value },
});
const refused = expect.objectContaining({ code: 'invalid_prompt', disposition: 'fail', param: 'input' });

describe('the options of a call', () => {
  it('are those of the specification', () => {
    const given = options({ instructions: 'Be brief.', tools: [{ type: 'function', name: 'look' }] });
    // The compiler holds ours against the specification's own.
    const specified: Pick<
      LanguageModelV4CallOptions,
      'tools' | 'toolChoice' | 'reasoning' | 'responseFormat'
    > = {
      ...(given.tools && { tools: given.tools }),
      ...(given.toolChoice && { toolChoice: given.toolChoice }),
      ...(given.reasoning && { reasoning: given.reasoning }),
      ...(given.responseFormat && { responseFormat: given.responseFormat }),
    };
    expect(specified.tools).toEqual([
      { type: 'function', name: 'look', inputSchema: { type: 'object', properties: {} } },
    ]);
  });

  it('say only what the client chose', () => {
    expect(options({ input: 'Hello' })).toEqual({ prompt: [{ role: 'user', content: [text('Hello')] }] });
  });

  it('carry sampling, limits and effort', () => {
    expect(
      options({
        temperature: 0.5,
        top_p: 0.9,
        presence_penalty: 1,
        frequency_penalty: -1,
        max_output_tokens: 100,
        reasoning: { effort: 'minimal' },
      }),
    ).toMatchObject({
      temperature: 0.5,
      topP: 0.9,
      presencePenalty: 1,
      frequencyPenalty: -1,
      maxOutputTokens: 100,
      reasoning: 'low',
      providerOptions: { google: { thinkingConfig: { includeThoughts: true } } },
    });
    expect(options({ reasoning: { effort: 'none' } })).toMatchObject({ reasoning: 'none' });
    expect(options({ reasoning: { effort: 'high' } }, { specificationVersion: 'v3' })).not.toHaveProperty(
      'reasoning',
    );
  });

  it('carry the format of the answer', () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } } };
    const format = { type: 'json_schema', name: 'answer', description: 'One number.', schema, strict: true };
    expect(options({ text: { format } }).responseFormat).toEqual({
      type: 'json',
      name: 'answer',
      description: 'One number.',
      schema,
    });
    expect(options({ text: { format: { type: 'json_object' } } }).responseFormat).toEqual({ type: 'json' });
  });

  it('carry the choice of a tool', () => {
    const tools = ['a', 'b'].map((name) => ({ type: 'function', name, strict: true }));
    const named = options({ tools, tool_choice: { type: 'function', name: 'b' } });
    expect(named.tools?.map(({ name, strict }) => [name, strict])).toEqual([
      ['a', true],
      ['b', true],
    ]);
    expect(named.toolChoice).toEqual({ type: 'tool', toolName: 'b' });
    const allowed = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'b' }] };
    const some = options({ tools, tool_choice: allowed });
    expect(some.tools?.map(({ name }) => name)).toEqual(['b']);
    expect(some.toolChoice).toEqual({ type: 'required' });
    expect(options({ tools, tool_choice: 'none' }).toolChoice).toEqual({ type: 'none' });
    expect(options({ tools })).not.toHaveProperty('toolChoice');
  });

  it('carry custom tools as functions with one argument', () => {
    const given = options({
      tools: [{ type: 'custom', name: 'patch', description: 'Applies a patch.' }],
      tool_choice: { type: 'custom', name: 'patch' },
    });
    expect(given.tools).toMatchObject([
      { type: 'function', name: 'patch', inputSchema: { required: ['input'] } },
    ]);
    expect(given.toolChoice).toEqual({ type: 'tool', toolName: 'patch' });
  });

  it('ask vendors that can for one call at a time', () => {
    const tools = [{ type: 'function', name: 'a' }];
    expect(options({ tools, parallel_tool_calls: false }).providerOptions).toMatchObject({
      anthropic: { disableParallelToolUse: true },
      mistral: { parallelToolCalls: false },
    });
    expect(options({ parallel_tool_calls: false })).not.toHaveProperty('providerOptions');
  });
});

describe('the prompt', () => {
  it('merges what stands before the conversation into one system message', () => {
    const system = (role: string, content: string) => ({ type: 'message', role, content });
    const input = [
      system('system', 'One.'),
      system('developer', 'Two.'),
      ...user(),
      system('developer', 'Three.'),
    ];
    expect(prompt(input, { instructions: 'Zero.' })).toEqual([
      { role: 'system', content: 'Zero.\n\nOne.\n\nTwo.' },
      { role: 'user', content: [] },
      { role: 'user', content: [text('Three.')] },
    ]);
  });

  it('puts outputs behind the message with their calls, wherever they stood', () => {
    const input = [
      { type: 'message', role: 'assistant', content: 'I look.' },
      call('c1'),
      call('c2', 'no JSON'),
      ...user({ type: 'input_text', text: 'And?' }),
      output('c2', 'two'),
      output('c1', [{ type: 'input_text', text: 'one' }]),
      { type: 'message', role: 'assistant', content: 'Done.' },
      output('c9', 'of nobody'),
    ];
    expect(prompt(input)).toEqual([
      {
        role: 'assistant',
        content: [
          text('I look.'),
          { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: { a: 1 } },
          { type: 'tool-call', toolCallId: 'c2', toolName: 'look', input: { input: 'no JSON' } },
        ],
      },
      {
        role: 'tool',
        content: [toolResult('c2', 'two'), toolResult('c1', 'one')],
      },
      { role: 'user', content: [text('And?')] },
      { role: 'assistant', content: [text('Done.')] },
      { role: 'user', content: [text('Output of a tool:'), text('of nobody')] },
    ]);
  });

  it('carries images and files as data', () => {
    const parts = user(
      { type: 'input_image', image_url: 'data:image/png;base64,aGk=' },
      { type: 'input_file', filename: 'notes.md', file_data: 'aGk=' },
      { type: 'input_file', filename: 'a.bin', file_data: 'data:application/pdf;base64,aGk=' },
    );
    expect(prompt(parts)).toEqual([
      {
        role: 'user',
        content: [file('image/png'), file('text/markdown', 'notes.md'), file('application/pdf', 'a.bin')],
      },
    ]);
    expect(options({ input: parts }, { specificationVersion: 'v2' }).prompt[0]?.content[0]).toEqual({
      type: 'file',
      data: 'aGk=',
      mediaType: 'image/png',
    });
  });

  it('carries URLs of clients only where the operator lets it', () => {
    const image = user({ type: 'input_image', image_url: 'https://example.com/a.png' });
    expect(() => options({ input: image })).toThrow(refused);
    const page = user({ type: 'input_file', file_url: 'https://example.com/a.csv' });
    const allowed = options({ input: [...image, ...page] }, { fetchesUrls: true });
    expect(allowed.prompt.flatMap<unknown>(({ content }) => content)).toEqual([
      {
        type: 'file',
        data: { type: 'url', url: new URL('https://example.com/a.png') },
        mediaType: 'image/*',
      },
      {
        type: 'file',
        data: { type: 'url', url: new URL('https://example.com/a.csv') },
        mediaType: 'text/csv',
      },
    ]);
  });

  it('keeps media of outputs out of tool results, which a package might fetch by itself', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,aGk=' };
    expect(prompt([call('c1'), output('c1', [image])]).slice(1)).toEqual([
      {
        role: 'tool',
        content: [toolResult('c1', 'The output is attached below.')],
      },
      {
        role: 'user',
        content: [text('Attached to the output of c1:'), file('image/png')],
      },
    ]);
  });

  it('keeps the media of an output together, however many', () => {
    const media = Array.from({ length: 200_000 }, () => ({
      type: 'input_image',
      image_url: 'data:image/png;base64,aGk=',
    }));
    expect(prompt([call('c1'), output('c1', media)]).at(-1)?.content).toHaveLength(media.length + 1);
  });

  it('refuses a video whose data URL is not base64', () => {
    const input = [call('c1'), output('c1', [{ type: 'input_video', video_url: 'data:video/mp4,abc' }])];
    expect(() => prompt(input)).toThrow(refused);
  });
});

describe('marks for caches', () => {
  const { providerId, fetchesUrls } = { providerId: 'up', fetchesUrls: false };
  const marked = (members: object, breakpoints: object[], takesCacheMarks = true) =>
    callOptions({ ...request(members), cache_breakpoints: breakpoints } as Generation, {
      ...{ providerId, fetchesUrls, specificationVersion: 'v4', takesCacheMarks },
    });
  const mark = (ttl?: string) => ({
    providerOptions: { anthropic: { cacheControl: { type: 'ephemeral', ...(ttl && { ttl }) } } },
  });
  const part = (value: string) => ({ type: 'input_text', text: value });
  const conversation = {
    input: [
      { type: 'message', role: 'system', content: [part('Be brief.'), part('Be kind.')] },
      { type: 'message', role: 'user', content: [part('Look.'), part('Now.')] },
      {
        type: 'message',
        role: 'assistant',
        content: ['Let me', 'see.'].map((each) => ({ type: 'output_text', text: each })),
      },
      call('c1'),
      output('c1', [part('A cat.'), { type: 'input_image', image_url: 'data:image/png;base64,AAAA' }]),
      call('c2'),
      output('c2', 'A dog.'),
    ],
  };

  it('stand at texts of the system, parts, calls and outputs', () => {
    const breakpoints = [
      { at: 'input', index: 0, part: 0, ttl: '1h' },
      { at: 'input', index: 1, part: 1 },
      { at: 'input', index: 2, part: 0 },
      { at: 'input', index: 3 },
    ];
    expect(marked(conversation, breakpoints).prompt.slice(0, 4)).toMatchObject([
      { role: 'system', content: 'Be brief.', ...mark('1h') },
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: [text('Look.'), { ...text('Now.'), ...mark() }] },
      {
        role: 'assistant',
        content: [{ ...text('Let me'), ...mark() }, text('see.'), { type: 'tool-call', ...mark() }],
      },
    ]);
    const ofOutputs = marked(conversation, [
      { at: 'input', index: 4, part: 0 },
      { at: 'input', index: 6 },
    ]).prompt;
    // The image of an output stands behind it, and so does the mark.
    expect(ofOutputs.slice(4)).toMatchObject([
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c1' }] },
      { role: 'user', content: [text('Attached to the output of c1:'), { type: 'file', ...mark() }] },
      { role: 'assistant', content: [{ type: 'tool-call' }] },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c2', ...mark() }] },
    ]);
    expect(ofOutputs[4]).not.toHaveProperty(['content', 0, 'providerOptions']);
  });

  it('change nothing else, wherever they stand', () => {
    const bare = (breakpoint: object) =>
      JSON.stringify(marked(conversation, [breakpoint]), (key, value: unknown) =>
        key === 'providerOptions' ? undefined : value,
      );
    const expected = bare({ at: 'tool', index: 0 });
    for (let index = 0; index < 7; index += 1) expect(bare({ at: 'input', index, part: 0 })).toBe(expected);
  });

  it('stand at tools, by their place among all', () => {
    const tools = ['look', 'find'].map((name) => ({ type: 'function', name }));
    const choice = { type: 'allowed_tools', mode: 'auto', tools: [tools[1]] };
    const given = marked({ tools, tool_choice: choice }, [{ at: 'tool', index: 1 }]).tools;
    expect(given).toMatchObject([{ name: 'find', ...mark() }]);
  });

  it('are left out for the packages of others', () => {
    expect(marked(conversation, [{ at: 'input', index: 0, part: 0 }], false)).toEqual(options(conversation));
  });
});

describe('what a prompt costs', () => {
  it('grows with the number of texts of the system, and not with its square', () => {
    const input = Array.from({ length: 48_000 }, () => ({ type: 'message', role: 'system', content: 'Hm' }));
    const asked = { input, cache_breakpoints: [{ at: 'input', index: 0 }] } as unknown as Generation;
    const given = { providerId: 'up', fetchesUrls: false, specificationVersion: 'v4', takesCacheMarks: true };
    expect(costAgainstParsing(input, () => () => void callOptions(asked, given))).toBeLessThan(50);
  });
});
