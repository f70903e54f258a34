import { ServiceError } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { parseCountMessageTokens, parseMessageRequest } from './message-request.ts';

const hello = { role: 'user', content: 'Hello' };
const message = (members: object) =>
  parseMessageRequest({ model: 'm', max_tokens: 100, messages: [hello], ...members });

const png = { type: 'base64', media_type: 'image/png', data: 'AAAA' };

describe('a message as the request of a response', () => {
  it('has its blocks as items, in their order', () => {
    const { request } = message({
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image', source: png },
            { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'I should look.', signature: 'c2VhbGVk' },
            { type: 'redacted_thinking', data: 'b3RoZXI' },
            { type: 'text', text: 'Let me see.' },
            { type: 'tool_use', id: 'c1', name: 'look', input: { at: 1 } },
            { type: 'tool_use', id: 'c2', name: 'look', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'c1', content: 'A cat.' },
            {
              type: 'tool_result',
              tool_use_id: 'c2',
              content: [
                { type: 'text', text: 'cat.png' },
                { type: 'image', source: png },
              ],
            },
            { type: 'text', text: 'Well?' },
          ],
        },
        { role: 'system', content: 'No lists.' },
        { role: 'assistant', content: 'A cat' },
        hello,
      ],
    });
    expect(request.input).toEqual([
      { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'Be brief.' }] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
          { type: 'input_image', image_url: 'https://a.example/b.png' },
        ],
      },
      {
        type: 'reasoning',
        summary: [],
        content: [{ type: 'reasoning_text', text: 'I should look.' }],
        encrypted_content: 'c2VhbGVk',
      },
      { type: 'reasoning', summary: [], encrypted_content: 'b3RoZXI' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Let me see.' }] },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"at":1}' },
      { type: 'function_call', call_id: 'c2', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'A cat.' },
      {
        type: 'function_call_output',
        call_id: 'c2',
        output: [
          { type: 'input_text', text: 'cat.png' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
        ],
      },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Well?' }] },
      { type: 'message', role: 'system', content: 'No lists.' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'A cat' }] },
      { type: 'message', role: 'user', content: 'Hello' },
    ]);
  });

  it.each([
    [
      'a file',
      {
        source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
        title: 'Plan',
        context: 'Old.',
      },
      [
        { type: 'input_text', text: 'Old.' },
        { type: 'input_file', filename: 'Plan.pdf', file_data: 'data:application/pdf;base64,AAAA' },
      ],
    ],
    [
      'a URL',
      { source: { type: 'url', url: 'https://a.example/b.pdf' } },
      [{ type: 'input_file', file_url: 'https://a.example/b.pdf' }],
    ],
    [
      'a text',
      { source: { type: 'text', media_type: 'text/plain', data: 'It rains.' }, title: 'Weather' },
      [
        { type: 'input_text', text: 'Weather' },
        { type: 'input_text', text: 'It rains.' },
      ],
    ],
    [
      'blocks',
      {
        source: {
          type: 'content',
          content: [
            { type: 'text', text: 'a' },
            { type: 'image', source: png },
          ],
        },
      },
      [
        { type: 'input_text', text: 'a' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
      ],
    ],
  ])('has a document as its parts: %s', (_what, members, parts) => {
    const { request } = message({
      messages: [{ role: 'user', content: [{ type: 'document', ...members }] }],
    });
    expect(request.input).toEqual([{ type: 'message', role: 'user', content: parts }]);
  });

  it('has all parts of a document, however many', () => {
    const content = Array.from({ length: 200_000 }, () => ({ type: 'text', text: 'a' }));
    const document = { type: 'document', source: { type: 'content', content } };
    const { request } = message({ messages: [{ role: 'user', content: [document] }] });
    expect(request.input).toMatchObject([{ content: { length: content.length } }]);
  });

  it('says in its text that a call has failed', () => {
    const outputOf = (content: unknown) => {
      const result = { type: 'tool_result', tool_use_id: 'c', is_error: true, content };
      return message({ messages: [{ role: 'user', content: [result] }] }).request.input[0];
    };
    expect(outputOf('No such file.')).toMatchObject({ output: 'Error: No such file.' });
    expect(outputOf(undefined)).toMatchObject({ output: 'Error:' });
    expect(outputOf([{ type: 'text', text: 'No.' }])).toMatchObject({
      output: [{ text: 'Error:' }, { text: 'No.' }],
    });
  });

  it('has the names of its members changed', () => {
    const { request } = message({
      max_tokens: 5,
      stop_sequences: ['END'],
      temperature: 0.5,
      top_p: 0.9,
      stream: true,
      metadata: { user_id: 'u' },
      service_tier: 'standard_only',
      tools: [{ name: 'f', description: 'F.', input_schema: { type: 'object' } }],
      tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true },
      output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
    });
    expect(request).toMatchObject({
      max_output_tokens: 5,
      stop: ['END'],
      temperature: 0.5,
      top_p: 0.9,
      stream: true,
      user: 'u',
      service_tier: 'default',
      tools: [{ type: 'function', name: 'f', description: 'F.', parameters: { type: 'object' } }],
      tool_choice: { type: 'function', name: 'f' },
      parallel_tool_calls: false,
      text: { format: { type: 'json_schema', schema: { type: 'object' }, strict: true } },
      reasoning: { effort: 'low' },
      store: false,
    });
  });

  it('may have tools with names as long as its own API takes them, also in the calls of earlier turns', () => {
    const name = `mcp__${'a'.repeat(123)}`;
    const tools = [{ name, input_schema: { type: 'object' } }];
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name, input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'Done.' }] },
    ];
    const { request } = message({ tools, messages });
    expect(request.tools).toMatchObject([{ name }]);
    expect(request.input).toContainEqual(expect.objectContaining({ type: 'function_call', name }));
  });

  it.each([
    [{ type: 'auto' }, 'auto'],
    [{ type: 'any' }, 'required'],
    [{ type: 'none' }, 'none'],
  ])('may choose %o', (choice, expected) => {
    const tools = [{ name: 'f', input_schema: { type: 'object' } }];
    expect(message({ tools, tool_choice: choice }).request.tool_choice).toBe(expected);
  });

  it.each<[object, object | undefined, string]>([
    [{}, undefined, 'none'],
    [{ thinking: { type: 'disabled' } }, { effort: 'none' }, 'none'],
    [
      { thinking: { type: 'enabled', budget_tokens: 1024 } },
      { effort: 'low', summary: 'auto' },
      'summarized',
    ],
    [
      { thinking: { type: 'enabled', budget_tokens: 10_000 } },
      { effort: 'medium', summary: 'auto' },
      'summarized',
    ],
    [
      { thinking: { type: 'enabled', budget_tokens: 31_999 } },
      { effort: 'high', summary: 'auto' },
      'summarized',
    ],
    [{ thinking: { type: 'adaptive' } }, { summary: 'auto' }, 'summarized'],
    [
      { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'max' } },
      { effort: 'max' },
      'omitted',
    ],
  ])('thinks as %o says', (members, reasoning, delivered) => {
    const { request, delivery } = message(members);
    expect(request.reasoning).toEqual(reasoning);
    expect(delivery).toEqual({ thinking: delivered });
    expect(request.include).toEqual(delivered === 'none' ? undefined : ['reasoning.encrypted_content']);
  });

  it('is kept if its caller can come back', () => {
    const body = { model: 'm', max_tokens: 1, messages: [hello] };
    expect(parseMessageRequest(body, { canReturn: true }).request.store).toBe(true);
  });

  it('may say without effect what is the rule', () => {
    const edits = [{ type: 'clear_thinking_20251015', keep: 'all' }];
    message({ context_management: { edits }, container: null, stop_sequences: [], unknown: 1 });
  });

  it('names its member in an error that is found later', () => {
    const thought = { type: 'thinking', thinking: 'Hm.', signature: 'x' };
    const { named } = message({
      system: 'Be brief.',
      messages: [hello, { role: 'assistant', content: [{ type: 'text', text: 'Hi' }, thought] }],
    });
    const error = named(
      new ServiceError('invalid_encrypted_content', { param: 'input[3].encrypted_content' }),
    );
    expect(error).toMatchObject({ param: 'messages[1].content[1].signature' });
  });
});

describe('a request to count the tokens of a message', () => {
  it('needs no bound', () => {
    const { request } = parseCountMessageTokens({ model: 'm', system: 'Be brief.', messages: [hello] });
    expect(request).toMatchObject({ model: 'm', input: [{ role: 'system' }, { role: 'user' }] });
  });
});

const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
const assistant = (...content: object[]) => ({ messages: [hello, { role: 'assistant', content }] });
const tool = { name: 'f', input_schema: { type: 'object' } };

describe('what is wrong with a message is named as the caller wrote it', () => {
  it.each<[string, object, string, string]>([
    ['no messages', { messages: undefined }, 'missing_required_parameter', 'messages'],
    ['no model', { model: undefined }, 'missing_required_parameter', 'model'],
    ['no bound', { max_tokens: undefined }, 'missing_required_parameter', 'max_tokens'],
    ['a bound of nothing', { max_tokens: 0 }, 'integer_below_min_value', 'max_tokens'],
    ['an empty list', { messages: [] }, 'empty_array', 'messages'],
    ['an unknown role', { messages: [{ role: 'cat', content: 'x' }] }, 'invalid_value', 'messages[0].role'],
    ['no content', { messages: [{ role: 'user' }] }, 'missing_required_parameter', 'messages[0].content'],
    ['a block that nobody knows', user({ type: 'sound' }), 'invalid_value', 'messages[0].content[0]'],
    [
      'an image that is none',
      user({ type: 'text', text: 'See:' }, { type: 'image', source: { ...png, data: '@' } }),
      'invalid_base64_image',
      'messages[0].content[1].source',
    ],
    [
      'an image inside',
      user({ type: 'image', source: { type: 'url', url: 'http://127.0.0.1/x.png' } }),
      'invalid_image_url',
      'messages[0].content[0].source',
    ],
    [
      'an image in a result',
      user(
        { type: 'tool_result', tool_use_id: 'a', content: 'x' },
        {
          type: 'tool_result',
          tool_use_id: 'b',
          content: [{ type: 'image', source: { ...png, data: '@' } }],
        },
      ),
      'invalid_base64_image',
      'messages[0].content[1].content[0].source',
    ],
    [
      'a file by its id',
      user({ type: 'document', source: { type: 'file', file_id: 'f' } }),
      'invalid_value',
      'messages[0].content[0].source',
    ],
    [
      'citations',
      user({
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: 'x' },
        citations: { enabled: true },
      }),
      'unsupported_parameter',
      'messages[0].content[0].citations.enabled',
    ],
    [
      'thinking of a user',
      user({ type: 'thinking', thinking: 'x', signature: 'y' }),
      'invalid_value',
      'messages[0].content[0]',
    ],
    [
      'a call with a bad name',
      assistant({ type: 'tool_use', id: 'c', name: 'a b', input: {} }),
      'invalid_value',
      'messages[1].content[0].name',
    ],
    [
      'a call with a long id',
      assistant({ type: 'tool_use', id: 'c'.repeat(65), name: 'f', input: {} }),
      'string_above_max_length',
      'messages[1].content[0].id',
    ],
    [
      'a result with a long id',
      user({ type: 'tool_result', tool_use_id: 'c'.repeat(65) }),
      'string_above_max_length',
      'messages[0].content[0].tool_use_id',
    ],
    [
      'a tool that is run elsewhere',
      { tools: [{ type: 'web_search_20250305', name: 'w' }] },
      'unsupported_tool',
      'tools[0].type',
    ],
    ['a tool with a bad name', { tools: [{ ...tool, name: 'a b' }] }, 'invalid_value', 'tools[0].name'],
    [
      'a tool with too long a name',
      { tools: [{ ...tool, name: 'a'.repeat(129) }] },
      'string_above_max_length',
      'tools[0].name',
    ],
    [
      'a tool whose schema cannot be held',
      { tools: [tool, { ...tool, name: 'g', strict: true, input_schema: { type: 'nothing' } }] },
      'invalid_value',
      'tools[1].input_schema',
    ],
    [
      'a format that cannot be held',
      { output_config: { format: { type: 'json_schema', schema: { type: 'nothing' } } } },
      'invalid_value',
      'output_config.format.schema',
    ],
    [
      'a choice that is no tool',
      { tools: [tool], tool_choice: { type: 'tool', name: 'g' } },
      'invalid_value',
      'tool_choice',
    ],
    ['a choice of nothing', { tool_choice: { type: 'any' } }, 'invalid_value', 'tool_choice'],
    ['a temperature over 1', { temperature: 1.5 }, 'decimal_above_max_value', 'temperature'],
    [
      'a small budget',
      { thinking: { type: 'enabled', budget_tokens: 5 } },
      'integer_below_min_value',
      'thinking.budget_tokens',
    ],
    [
      'a long id of a user',
      { metadata: { user_id: 'u'.repeat(600) } },
      'string_above_max_length',
      'metadata.user_id',
    ],
    ['top_k', { top_k: 5 }, 'unsupported_parameter', 'top_k'],
    ['a thread', { thread: { type: 'create' } }, 'unsupported_parameter', 'thread'],
    ['a container', { container: 'c' }, 'unsupported_parameter', 'container'],
    ['servers', { mcp_servers: [] }, 'unsupported_parameter', 'mcp_servers'],
    ['a region', { inference_geo: 'eu' }, 'unsupported_parameter', 'inference_geo'],
    [
      'a change of the context',
      { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
      'unsupported_parameter',
      'context_management',
    ],
  ])('%s', (_what, members, code, param) => {
    expect(() => message(members)).toThrow(expect.objectContaining({ code, param }));
  });

  it('also in its message', () => {
    const refused = () => message(user({ type: 'image', source: { ...png, data: '@' } }));
    expect(refused).toThrow("'messages[0].content[0].source'");
  });

  it('is its body itself', () => {
    for (const body of [undefined, 'x', [], 7]) expect(() => parseMessageRequest(body)).toThrow();
  });
});
