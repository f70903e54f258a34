import { ServiceError } from '@sluice/contract';
import { costAgainstParsing } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { asChatError } from './chat-params.ts';
import { parseChatRequest } from './chat-request.ts';

const hello = { role: 'user', content: 'Hello' };
const chat = (members: object) => parseChatRequest({ model: 'm', messages: [hello], ...members });

describe('a chat completion as the request of a response', () => {
  it('has its messages as items, in their order', () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: [{ type: 'text', text: 'No lists.' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
        ],
      },
      {
        role: 'assistant',
        reasoning_content: 'I should look.',
        content: 'Let me see.',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
          { id: 'c2', type: 'custom', custom: { name: 'shell', input: 'ls' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'A cat.' },
      { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'cat.png' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'A cat' }], refusal: 'No more.' },
      hello,
    ];
    const tools = [
      { type: 'function', function: { name: 'look', parameters: { type: 'object' } } },
      { type: 'custom', custom: { name: 'shell' } },
    ];
    const { request } = chat({ messages, tools });
    expect(request.input).toEqual([
      { type: 'message', role: 'system', content: 'Be brief.' },
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'No lists.' }] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
        ],
      },
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'I should look.' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Let me see.' }] },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"at":1}' },
      { type: 'custom_tool_call', call_id: 'c2', name: 'shell', input: 'ls' },
      { type: 'function_call_output', call_id: 'c1', output: 'A cat.' },
      {
        type: 'custom_tool_call_output',
        call_id: 'c2',
        output: [{ type: 'input_text', text: 'cat.png' }],
      },
      {
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'A cat' },
          { type: 'refusal', refusal: 'No more.' },
        ],
      },
      { type: 'message', role: 'user', content: 'Hello' },
    ]);
  });

  it('has the names of its members changed', () => {
    const { request } = chat({
      max_completion_tokens: 5,
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } },
      reasoning_effort: 'low',
      verbosity: 'high',
      logprobs: true,
      top_logprobs: 3,
      stop: 'END',
      seed: 7,
      temperature: 0.5,
      tools: [{ type: 'function', function: { name: 'f' } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      parallel_tool_calls: false,
      metadata: { a: 'b' },
    });
    expect(request).toMatchObject({
      max_output_tokens: 5,
      text: { format: { type: 'json_schema', name: 'a', schema: { type: 'object' } }, verbosity: 'high' },
      reasoning: { effort: 'low' },
      include: ['message.output_text.logprobs'],
      top_logprobs: 3,
      stop: ['END'],
      seed: 7,
      temperature: 0.5,
      tools: [{ type: 'function', name: 'f' }],
      tool_choice: { type: 'function', name: 'f' },
      parallel_tool_calls: false,
      metadata: { a: 'b' },
    });
  });

  it('is kept if that is asked for, or its caller can come back', () => {
    expect(chat({}).request.store).toBe(false);
    expect(chat({ store: true }).request.store).toBe(true);
    const body = { model: 'm', messages: [hello] };
    expect(parseChatRequest(body, { canReturn: true }).request.store).toBe(true);
    expect(parseChatRequest({ ...body, store: false }, { canReturn: true }).request.store).toBe(false);
  });

  it('may say without effect what is the rule', () => {
    const { request } = chat({
      n: 1,
      logit_bias: {},
      modalities: ['text'],
      functions: null,
      tools: null,
      stop: [],
    });
    expect(request).not.toHaveProperty('tools');
    // Some upstreams have none, and would refuse it.
    expect(request).not.toHaveProperty('stop');
  });

  it.each<[object, string | undefined]>([
    [{ reasoning: { effort: 'low' } }, 'low'],
    [{ reasoning: { effort: 'low', exclude: false }, reasoning_effort: 'low' }, 'low'],
    [{ reasoning: { enabled: true } }, 'medium'],
    [{ reasoning: { enabled: false } }, 'none'],
    [{ reasoning: { effort: 'high', enabled: true } }, 'high'],
    [{ reasoning: {} }, undefined],
    [{ reasoning: { effort: null, max_tokens: null }, reasoning_effort: 'high' }, 'high'],
  ])('thinks as much as %j says', (members, effort) => {
    expect(chat(members).request.reasoning?.effort).toBe(effort);
  });

  it('takes members of single servers that leave the answer as it is, and those that nobody knows', () => {
    const neutral = {
      top_k: -1,
      min_p: 0,
      repetition_penalty: 1,
      best_of: 1,
      ignore_eos: false,
      stop_token_ids: [],
      chat_template_kwargs: {},
      provider: {},
      include_reasoning: true,
      guided_json: null,
      cache_prompt: true,
      of_tomorrow: 7,
    };
    expect(chat(neutral).request).toEqual(chat({}).request);
    expect(chat({ top_k: 0 }).request).toEqual(chat({}).request);
  });

  it('says how it is delivered', () => {
    expect(chat({}).delivery).toEqual({ includesUsage: false });
    expect(chat({ stream_options: { include_usage: true } }).delivery).toEqual({ includesUsage: true });
  });
});

const image = (url: string) => ({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] });
const call = (members: object) => ({
  role: 'assistant',
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}', ...members } }],
});

describe('what is wrong with a chat completion is named as the caller wrote it', () => {
  it.each<[string, object, string, string]>([
    ['no messages', { messages: undefined }, 'missing_required_parameter', 'messages'],
    ['null for the messages', { messages: null }, 'missing_required_parameter', 'messages'],
    ['no model', { model: undefined }, 'missing_required_parameter', 'model'],
    ['an empty list', { messages: [] }, 'empty_array', 'messages'],
    ['a text for the messages', { messages: 'Hi' }, 'invalid_type', 'messages'],
    ['an unknown role', { messages: [{ role: 'cat', content: 'x' }] }, 'invalid_value', 'messages[0].role'],
    ['no content', { messages: [{ role: 'user' }] }, 'missing_required_parameter', 'messages[0].content'],
    ['a name', { messages: [{ ...hello, name: 'Al' }] }, 'unsupported_parameter', 'messages[0].name'],
    [
      'a part of sound',
      { messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] },
      'invalid_value',
      'messages[0].content[0]',
    ],
    [
      'an image that is none',
      { messages: [hello, image('data:image/png;base64,@')] },
      'invalid_base64_image',
      'messages[1].content[0].image_url.url',
    ],
    [
      'an image inside',
      { messages: [image('http://127.0.0.1/x.png')] },
      'invalid_image_url',
      'messages[0].content[0].image_url.url',
    ],
    [
      'a call with a bad name',
      { messages: [hello, call({ name: 'a b' })] },
      'invalid_value',
      'messages[1].tool_calls[0].function.name',
    ],
    [
      'an old kind of call',
      { messages: [{ role: 'assistant', content: 'x', function_call: {} }] },
      'unsupported_parameter',
      'messages[0].function_call',
    ],
    [
      'a tool with a bad name',
      { tools: [{ type: 'function', function: { name: 'a b' } }] },
      'invalid_value',
      'tools[0].function.name',
    ],
    [
      'a choice that is no tool',
      { tool_choice: { type: 'function', function: { name: 'f' } } },
      'invalid_value',
      'tool_choice',
    ],
    [
      'a strict schema that cannot be held',
      {
        response_format: {
          type: 'json_schema',
          json_schema: {
            name: 'a',
            strict: true,
            schema: { type: 'object', properties: { a: { type: 'nothing' } } },
          },
        },
      },
      'invalid_value',
      'response_format.json_schema.schema',
    ],
    ['a temperature over 2', { temperature: 3 }, 'decimal_above_max_value', 'temperature'],
    ['no tokens', { max_tokens: 0 }, 'integer_below_min_value', 'max_tokens'],
    ['two limits', { max_tokens: 1, max_completion_tokens: 1 }, 'invalid_value', 'max_tokens'],
    ['several choices', { n: 2 }, 'unsupported_value', 'n'],
    ['top_logprobs alone', { top_logprobs: 2 }, 'invalid_value', 'top_logprobs'],
    ['a bias', { logit_bias: { 1: 5 } }, 'unsupported_parameter', 'logit_bias'],
    ['functions', { functions: [] }, 'unsupported_parameter', 'functions'],
    ['sound', { modalities: ['text', 'audio'] }, 'unsupported_value', 'modalities'],
    ['a prediction', { prediction: {} }, 'unsupported_parameter', 'prediction'],
    [
      'reasoning with a budget',
      { reasoning: { max_tokens: 5 } },
      'unsupported_parameter',
      'reasoning.max_tokens',
    ],
    ['reasoning to hide', { reasoning: { exclude: true } }, 'unsupported_parameter', 'reasoning.exclude'],
    ['reasoning that is wrong', { reasoning: { effort: 'huge' } }, 'invalid_value', 'reasoning.effort'],
    ['two efforts', { reasoning: { effort: 'low' }, reasoning_effort: 'high' }, 'invalid_value', 'reasoning'],
    ['an effort that nobody knows', { reasoning_effort: 'huge' }, 'invalid_value', 'reasoning_effort'],
  ])('%s', (_what, members, code, param) => {
    const refused = () => chat(members);
    expect(refused).toThrow(expect.objectContaining({ code, param }));
    // The route translates once more, and cannot know that it was done.
    const answered = () => {
      try {
        return refused();
      } catch (error) {
        throw error instanceof ServiceError ? asChatError(error) : error;
      }
    };
    expect(answered).toThrow(expect.objectContaining({ code, param }));
  });

  it.each<[string, unknown]>([
    ['top_k', 40],
    ['top_k', '0'],
    ['top_a', 0.5],
    ['min_p', 0.05],
    ['typical_p', 0.9],
    ['repetition_penalty', 1.1],
    ['length_penalty', 2],
    ['mirostat', 2],
    ['best_of', 2],
    ['use_beam_search', true],
    ['bad_words', ['x']],
    ['allowed_token_ids', [1]],
    ['min_tokens', 5],
    ['ignore_eos', true],
    ['stop_token_ids', [2]],
    ['guided_json', {}],
    ['guided_regex', 'a+'],
    ['guided_choice', ['a', 'b']],
    ['guided_grammar', 'root ::= "a"'],
    ['structured_outputs', { choice: ['a'] }],
    ['grammar', 'root ::= "a"'],
    ['chat_template_kwargs', { enable_thinking: false }],
    ['enable_thinking', false],
    ['models', ['a', 'b']],
    ['provider', { order: ['a'] }],
    ['transforms', ['middle-out']],
    ['plugins', [{ id: 'web' }]],
    ['include_reasoning', false],
  ])('or a member of single servers: %s of %j', (param, value) => {
    expect(() => chat({ [param]: value })).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', param }),
    );
  });

  it('also in its message', () => {
    const refused = () => chat({ messages: [image('data:image/png;base64,@')] });
    expect(refused).toThrow("'messages[0].content[0].image_url.url'");
  });

  it('is its body itself', () => {
    for (const body of [undefined, 'x', [], 7]) expect(() => parseChatRequest(body)).toThrow();
  });
});

describe('what a chat completion costs', () => {
  it('grows with the number of calls and outputs, and not with its square', () => {
    const counted = { type: 'function', id: 'c', function: { name: 'f', arguments: '{}' } };
    const said = { role: 'assistant', tool_calls: Array.from({ length: 50_000 }, () => counted) };
    const outputs = Array.from({ length: 4000 }, () => ({ role: 'tool', tool_call_id: 'd', content: 'Hm' }));
    const messages = [said, ...outputs];
    const tooMany = expect.objectContaining({ code: 'array_above_max_length' });
    const parse = () => () => expect(() => chat({ messages })).toThrow(tooMany);
    expect(costAgainstParsing(messages, parse)).toBeLessThan(50);
  });
});
