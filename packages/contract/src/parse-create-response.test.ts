import { describe, expect, it } from 'vitest';
import { includeValues } from './create-response.ts';
import { ServiceError } from './service-error.ts';
import { openToolOutputs, parseCreateResponse } from './parse-create-response.ts';

const least = { model: 'simulator', input: 'hi' };

/** What a body is refused with: its code and what it is about. */
function refusal(body: unknown): { code: string; param: string | null } | undefined {
  try {
    parseCreateResponse(body);
  } catch (error) {
    if (error instanceof ServiceError) return { code: error.code, param: error.param };
    throw error;
  }
  return undefined;
}

function message(content: unknown, role: unknown = 'user') {
  return { type: 'message', role, content };
}

const call = { type: 'function_call', call_id: 'call_1', name: 'add', arguments: '{}' };
const tool = { type: 'function', name: 'add' };
const format = { type: 'json_schema', name: 'answer', schema: {} };
const png = 'data:image/png;base64,iVBORw0KGgo=';

type Row = [member: string, value: unknown, code: string, param?: string];

const members: Row[] = [
  ['model', 5, 'invalid_type'],
  ['model', '', 'invalid_value'],
  ['model', null, 'missing_required_parameter'],
  ['input', 5, 'invalid_type'],
  ['input', {}, 'invalid_type'],
  ['input', null, 'missing_required_parameter'],
  ['input', [], 'empty_array'],
  ['input', 'x'.repeat(10_485_761), 'string_above_max_length'],
  ['input', Array.from({ length: 4_097 }, () => message('x')), 'array_above_max_length'],
  ['stream', 'true', 'invalid_type'],
  ['temperature', -0.1, 'decimal_below_min_value'],
  ['temperature', 2.1, 'decimal_above_max_value'],
  ['temperature', '1', 'invalid_type'],
  ['top_p', -0.1, 'decimal_below_min_value'],
  ['top_p', 1.1, 'decimal_above_max_value'],
  ['presence_penalty', -2.1, 'decimal_below_min_value'],
  ['presence_penalty', 2.1, 'decimal_above_max_value'],
  ['frequency_penalty', -2.1, 'decimal_below_min_value'],
  ['frequency_penalty', 2.1, 'decimal_above_max_value'],
  ['top_logprobs', -1, 'integer_below_min_value'],
  ['top_logprobs', 21, 'integer_above_max_value'],
  ['top_logprobs', 1.5, 'invalid_type'],
  ['max_output_tokens', 15, 'integer_below_min_value'],
  ['max_output_tokens', 1e20, 'integer_above_max_value'],
  ['max_tool_calls', 0, 'integer_below_min_value'],
  ['parallel_tool_calls', 1, 'invalid_type'],
  ['tools', {}, 'invalid_type'],
  ['tools', Array.from({ length: 129 }, () => tool), 'array_above_max_length'],
  ['tools', [tool, null], 'invalid_type', 'tools[1]'],
  ['tools', [tool, 'add'], 'invalid_type', 'tools[1]'],
  ['tools', [{ type: 'web_search' }, {}], 'invalid_value', 'tools[1]'],
  ['tools', [tool, { type: 'web_search' }], 'unsupported_tool', 'tools[1].type'],
  ['tools', [{ type: 'mcp', server_label: 'x' }], 'unsupported_tool', 'tools[0].type'],
  ['tools', [{ type: 'of_tomorrow' }], 'unsupported_tool', 'tools[0].type'],
  ['tool_choice', { type: 'web_search_preview' }, 'unsupported_tool', 'tool_choice.type'],
  ['tools', [{ type: 'function' }], 'missing_required_parameter', 'tools[0].name'],
  ['tools', [{ type: 'function', name: 'a b' }], 'invalid_value', 'tools[0].name'],
  ['tools', [{ type: 'function', name: 'a'.repeat(65) }], 'string_above_max_length', 'tools[0].name'],
  ['tools', [{ type: 'function', name: 'a'.repeat(129) }], 'string_above_max_length', 'tools[0].name'],
  [
    'input',
    [{ type: 'function_call', call_id: 'c', name: 'a'.repeat(65), arguments: '{}' }],
    'string_above_max_length',
    'input[0].name',
  ],
  ['tools', [{ type: 'custom' }], 'missing_required_parameter', 'tools[0].name'],
  ['tools', [{ type: 'custom', name: 'a b' }], 'invalid_value', 'tools[0].name'],
  ['tools', [{ type: 'custom', name: 'a', format: 'lark' }], 'invalid_type', 'tools[0].format'],
  ['tools', [{ type: 'custom', name: 'a', format: { type: 'x' } }], 'invalid_value', 'tools[0].format'],
  ['tools', [tool, { ...tool, type: 'custom' }], 'invalid_value'],
  ['tool_choice', { type: 'custom', name: 'add' }, 'invalid_value'],
  ['tool_choice', { type: 'custom' }, 'missing_required_parameter', 'tool_choice.name'],
  ['tools', [{ ...tool, description: 5 }], 'invalid_type', 'tools[0].description'],
  ['tools', [{ ...tool, parameters: [] }], 'invalid_type', 'tools[0].parameters'],
  ['tools', [{ ...tool, strict: 'yes' }], 'invalid_type', 'tools[0].strict'],
  ['tool_choice', 5, 'invalid_type'],
  ['tool_choice', 'maybe', 'invalid_value'],
  ['tool_choice', 'required', 'invalid_value'],
  ['tool_choice', {}, 'invalid_value'],
  ['tool_choice', { type: 'telepathy', name: 'f' }, 'invalid_value'],
  ['tool_choice', { type: 'function' }, 'missing_required_parameter', 'tool_choice.name'],
  ['tool_choice', tool, 'invalid_value'],
  ['tool_choice', { type: 'allowed_tools', tools: [tool] }, 'invalid_value'],
  ['tool_choice', { type: 'allowed_tools', tools: [] }, 'empty_array', 'tool_choice.tools'],
  [
    'tool_choice',
    { type: 'allowed_tools', tools: Array.from({ length: 129 }, () => tool) },
    'array_above_max_length',
    'tool_choice.tools',
  ],
  ['tool_choice', { type: 'allowed_tools', mode: 'x', tools: [tool] }, 'invalid_value', 'tool_choice.mode'],
  ['text', 'json', 'invalid_type'],
  ['text', { format: 'json' }, 'invalid_type', 'text.format'],
  ['text', { format: { type: 'xml' } }, 'invalid_value', 'text.format'],
  ['text', { format: { ...format, name: 'a b' } }, 'invalid_value', 'text.format.name'],
  ['text', { format: { ...format, name: 'a'.repeat(65) } }, 'string_above_max_length', 'text.format.name'],
  ['text', { format: { ...format, schema: 'x' } }, 'invalid_type', 'text.format.schema'],
  ['text', { format: { ...format, strict: 1 } }, 'invalid_type', 'text.format.strict'],
  ['text', { format: { type: 'json_schema' } }, 'missing_required_parameter', 'text.format.schema'],
  [
    'text',
    { format: { type: 'json_schema', name: 'a', strict: true } },
    'missing_required_parameter',
    'text.format.schema',
  ],
  [
    'text',
    { format: { ...format, strict: true, schema: { $ref: 'https://example.com/s' } } },
    'invalid_value',
    'text.format.schema',
  ],
  [
    'tools',
    [{ type: 'web_search' }, { ...tool, strict: true, parameters: { pattern: '(?=a)' } }],
    'invalid_value',
    'tools[1].parameters',
  ],
  ['text', { verbosity: 'loud' }, 'invalid_value', 'text.verbosity'],
  ['reasoning', 'high', 'invalid_type'],
  ['reasoning', { effort: 'extreme' }, 'invalid_value', 'reasoning.effort'],
  ['reasoning', { summary: 'short' }, 'invalid_value', 'reasoning.summary'],
  ['reasoning', { generate_summary: 'short' }, 'invalid_value', 'reasoning.generate_summary'],
  ['instructions', ['x'], 'invalid_type'],
  ['previous_response_id', 5, 'invalid_type'],
  ['conversation', 5, 'invalid_type'],
  ['conversation', 'conv_1', 'unsupported_parameter'],
  ['conversation', { id: 'conv_1' }, 'unsupported_parameter'],
  ['store', 'false', 'invalid_type'],
  ['background', 1, 'invalid_type'],
  ['metadata', [], 'invalid_type'],
  ['metadata', { a: 1 }, 'invalid_type', 'metadata.a'],
  ['metadata', { a: 'x'.repeat(513) }, 'string_above_max_length', 'metadata.a'],
  ['metadata', { ['k'.repeat(65)]: 'x' }, 'invalid_value', `metadata.${'k'.repeat(64)}`],
  ['metadata', Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${at}`, 'x'])), 'invalid_value'],
  ['include', 'all', 'invalid_type'],
  ['include', ['reasoning.encrypted_content', 'all'], 'invalid_value', 'include[1]'],
  ['include', [5], 'invalid_type', 'include[0]'],
  ['truncation', 'some', 'invalid_value'],
  ['truncation', 5, 'invalid_type'],
  ['service_tier', 'gold', 'invalid_value'],
  ['prompt_cache_key', 'x'.repeat(65), 'string_above_max_length'],
  ['safety_identifier', 'x'.repeat(129), 'string_above_max_length'],
  ['user', 5, 'invalid_type'],
  ['prompt', { id: 'pmpt_1' }, 'unsupported_parameter'],
];

const image = (image_url: string) => ({ type: 'input_image', image_url });

/** One part of the content of a message; `at` is where in it the problem is. */
const wrongParts: [what: string, part: object, code: string, at: string, role?: string][] = [
  ['an unknown part', { type: 'audio' }, 'invalid_value', ''],
  ['text without text', { type: 'input_text' }, 'missing_required_parameter', '.text'],
  ['text that is no text', { type: 'input_text', text: 5 }, 'invalid_type', '.text'],
  ['an image of the system', image(png), 'invalid_value', '', 'system'],
  ['output of the user', { type: 'output_text', text: 'x' }, 'invalid_value', ''],
  ['an image of the assistant', image(png), 'invalid_value', '', 'assistant'],
  ['video of the user', { type: 'input_video', video_url: 'https://a.example/' }, 'invalid_value', ''],
  ['an image without a source', { type: 'input_image' }, 'missing_required_parameter', '.image_url'],
  ['an unknown detail', { ...image(png), detail: 'huge' }, 'invalid_value', '.detail'],
  ['a data URL of no image', image('data:text/plain;base64,AAAA'), 'invalid_image_format', '.image_url'],
  ['an image that is no base64', image('data:image/png;base64,%%%'), 'invalid_base64_image', '.image_url'],
  ['an image that is empty', image('data:image/png;base64,'), 'invalid_base64_image', '.image_url'],
  ['an image from a file', image('file:///etc/passwd'), 'invalid_image_url', '.image_url'],
  ['an image URL with a password', image('https://a:b@c.example/'), 'invalid_image_url', '.image_url'],
  ['an image that is too long', image(png + 'A'.repeat(20_971_520)), 'string_above_max_length', '.image_url'],
  [
    'a file without a source',
    { type: 'input_file', filename: 'a.pdf' },
    'missing_required_parameter',
    '.file_data',
  ],
  [
    'a file from elsewhere',
    { type: 'input_file', file_url: 'ftp://a.example/' },
    'invalid_value',
    '.file_url',
  ],
  ...['AAA%', 'AA=AAAAA', 'AAAAA', 'AA==\n'].map((data): (typeof wrongParts)[number] => [
    `an image with ${JSON.stringify(data)} for base64`,
    image(`data:image/png;base64,${data}`),
    'invalid_base64_image',
    '.image_url',
  ]),
  ...['', '!!!', 'data:application/pdf;base64,', 'data:application/pdf,JVBERi0='].map(
    (data): (typeof wrongParts)[number] => [
      `a file whose data is ${JSON.stringify(data)}`,
      { type: 'input_file', file_data: data },
      'invalid_value',
      '.file_data',
    ],
  ),
];

const items: [what: string, item: unknown, code: string, param: string][] = [
  ['no object', 'hi', 'invalid_type', 'input[0]'],
  ['no type and no role', {}, 'invalid_value', 'input[0]'],
  ['an unknown type', { type: 'thought' }, 'invalid_value', 'input[0]'],
  ['an unknown role', message('x', 'robot'), 'invalid_value', 'input[0].role'],
  ['no content', { role: 'user' }, 'missing_required_parameter', 'input[0].content'],
  ['content that is a number', message(5), 'invalid_type', 'input[0].content'],
  [
    'content that is too long',
    message('x'.repeat(10_485_761)),
    'string_above_max_length',
    'input[0].content',
  ],
  ['an unknown phase', { ...message('x', 'assistant'), phase: 'middle' }, 'invalid_value', 'input[0].phase'],
  ['a call without an id', { ...call, call_id: undefined }, 'missing_required_parameter', 'input[0].call_id'],
  ['a call with an empty id', { ...call, call_id: '' }, 'invalid_value', 'input[0].call_id'],
  [
    'a call with a long id',
    { ...call, call_id: 'x'.repeat(65) },
    'string_above_max_length',
    'input[0].call_id',
  ],
  ['a call of a bad name', { ...call, name: 'a b' }, 'invalid_value', 'input[0].name'],
  ['a call of a long name', { ...call, name: 'a'.repeat(65) }, 'string_above_max_length', 'input[0].name'],
  ['arguments that are no string', { ...call, arguments: {} }, 'invalid_type', 'input[0].arguments'],
  [
    'an output without output',
    { type: 'function_call_output', call_id: 'x' },
    'missing_required_parameter',
    'input[0].output',
  ],
  [
    'an output of nothing',
    { type: 'function_call_output', output: 'x' },
    'missing_required_parameter',
    'input[0].call_id',
  ],
  [
    'an unknown part of an output',
    { type: 'function_call_output', call_id: 'x', output: [{ type: 'output_text', text: 'x' }] },
    'invalid_value',
    'input[0].output[0]',
  ],
  ['reasoning without a summary', { type: 'reasoning' }, 'missing_required_parameter', 'input[0].summary'],
  ['a reference to nothing', { type: 'item_reference' }, 'missing_required_parameter', 'input[0].id'],
  [
    'a compaction without content',
    { type: 'compaction' },
    'missing_required_parameter',
    'input[0].encrypted_content',
  ],
  ['a status of no item', { ...call, status: 'queued' }, 'invalid_value', 'input[0].status'],
  ...wrongParts.map(([what, part, code, at, role]): (typeof items)[number] => [
    what,
    message([part], role),
    code,
    `input[0].content[0]${at}`,
  ]),
];

describe('a create request is refused', () => {
  it.each([
    [undefined, 'invalid_json'],
    [null, 'invalid_type'],
    ['hi', 'invalid_type'],
    [[least], 'invalid_type'],
  ])('as a body that is no object: %j', (body, code) => {
    expect(refusal(body)).toEqual({ code, param: null });
  });

  it.each(members.map(([member, value, code, param = member]) => ({ member, value, code, param })))(
    'with $code about $param',
    ({ member, value, code, param }) => {
      expect(refusal({ ...least, [member]: value })).toEqual({ code, param });
    },
  );

  it.each(items)('for an item with %s', (_what, item, code, param) => {
    expect(refusal({ ...least, input: [item] })).toEqual({ code, param });
  });

  it('with the words that would do, where they are few', () => {
    const wrong = () => parseCreateResponse({ ...least, input: [message('x', 'robot')] });
    expect(wrong).toThrow(
      "Invalid value for 'input[0].role': 'role' must be one of 'user', 'system', 'developer', 'assistant'.",
    );
  });

  it('with the place of the item that is wrong', () => {
    expect(refusal({ ...least, input: [message('x'), call, { type: 'thought' }] })?.param).toBe('input[2]');
  });

  it('for a padding wish of the wrong type', () => {
    const body = { ...least, stream: true, stream_options: { include_obfuscation: 'no' } };
    expect(refusal(body)).toEqual({ code: 'invalid_type', param: 'stream_options.include_obfuscation' });
  });

  it('for both ways to continue at once', () => {
    const body = { ...least, previous_response_id: 'create-response_x', conversation: 'conv_1' };
    expect(refusal(body)).toEqual({ code: 'mutually_exclusive_parameters', param: 'previous_response_id' });
  });
});

describe('the first problem', () => {
  /** One wrong value for each member, in the order in which problems are reported. */
  const wrong = {
    model: 5,
    input: 5,
    stream: 'x',
    stream_options: 5,
    temperature: 'x',
    top_p: 'x',
    presence_penalty: 'x',
    frequency_penalty: 'x',
    top_logprobs: 'x',
    max_output_tokens: 'x',
    max_tool_calls: 'x',
    parallel_tool_calls: 'x',
    tools: 5,
    tool_choice: 5,
    text: 5,
    reasoning: 5,
    instructions: 5,
    previous_response_id: 5,
    conversation: 5,
    store: 'x',
    background: 'x',
    metadata: 5,
    include: 5,
    truncation: 5,
    service_tier: 5,
    prompt_cache_key: 5,
    safety_identifier: 5,
  };

  it('is the first in the order of the members, whatever the order in the body', () => {
    const names = Object.keys(wrong);
    names.forEach((name, at) => {
      const later = Object.fromEntries(Object.entries(wrong).slice(at).toReversed());
      expect(refusal({ ...least, ...later })?.param).toBe(name);
    });
  });

  it('is a missing member before one of the wrong type', () => {
    expect(refusal({ input: 'hi', stream: 'x' })?.param).toBe('model');
    expect(refusal({ model: 5 })?.param).toBe('input');
    expect(refusal({})?.param).toBe('model');
  });

  it('is a wrong type before members that exclude each other', () => {
    expect(refusal({ ...least, prompt: {}, user: 5 })?.param).toBe('user');
  });
});

describe('a URL in the input', () => {
  const output = (part: object) => [call, { type: 'function_call_output', call_id: 'c1', output: [part] }];
  it('that leads inside is refused by name', () => {
    const url = 'http://169.254.169.254/latest/meta-data';
    const picture = message([{ type: 'input_image', image_url: url }]);
    expect(refusal({ ...least, input: [picture] })).toEqual({
      code: 'invalid_image_url',
      param: 'input[0].content[0].image_url',
    });
    const file = message([{ type: 'input_file', file_url: url }]);
    expect(refusal({ ...least, input: [file] })).toEqual({
      code: 'invalid_value',
      param: 'input[0].content[0].file_url',
    });
    expect(refusal({ ...least, input: output({ type: 'input_video', video_url: url }) })).toEqual({
      code: 'invalid_value',
      param: 'input[1].output[0].video_url',
    });
  });

  it.each(['https://example.com/x', 'http://93.184.215.14/x', 'https://[2606:2800:21f:cb07::1]/x'])(
    'that leads outside is taken: %s',
    (url) => {
      const parts = [
        { type: 'input_image', image_url: url },
        { type: 'input_file', file_url: url },
      ];
      expect(refusal({ ...least, input: [message(parts)] })).toBeUndefined();
      expect(refusal({ ...least, input: output({ type: 'input_video', video_url: url }) })).toBeUndefined();
    },
  );
});

describe('a create request is accepted', () => {
  it('with options of a stream that it does not ask for', () => {
    expect(refusal({ ...least, stream_options: { include_obfuscation: true } })).toBeUndefined();
    expect(refusal({ ...least, stream: false, stream_options: {} })).toBeUndefined();
  });

  it('for background work that is not to be stored', () => {
    expect(refusal({ ...least, background: true, store: false })).toBeUndefined();
  });

  it('with null for every member that may be absent', () => {
    const nothing = Object.fromEntries(
      members
        .map(([member]) => [member, null])
        .filter(([member]) => member !== 'model' && member !== 'input'),
    );
    expect(parseCreateResponse({ ...nothing, ...least })).toEqual(parseCreateResponse(least));
  });

  it('with null for what may be absent inside its members', () => {
    const body = {
      ...least,
      tools: [{ ...tool, description: null, parameters: null, strict: null }],
      text: { format: null, verbosity: null },
      reasoning: { effort: null, summary: null, generate_summary: null },
      stream: true,
      stream_options: { include_obfuscation: null },
      input: [{ ...message('x', 'assistant'), id: null, status: null, phase: null }],
    };
    expect(refusal(body)).toBeUndefined();
  });

  it('with members that nobody here knows', () => {
    const unknown = { client_metadata: { a: 1 }, prompt_cache_options: {}, moderation: 5, image: null };
    expect(parseCreateResponse({ ...least, ...unknown })).toEqual(parseCreateResponse(least));
  });

  it.each([
    ['temperature', 0],
    ['temperature', 2],
    ['top_p', 0],
    ['top_p', 1],
    ['presence_penalty', -2],
    ['frequency_penalty', 2],
    ['top_logprobs', 20],
    ['max_output_tokens', 16],
    ['max_tool_calls', 1],
    ['prompt_cache_key', 'x'.repeat(64)],
    ['safety_identifier', 'x'.repeat(128)],
    ['text', {}],
    [
      'metadata',
      Object.fromEntries(
        Array.from({ length: 16 }, (_, at) => [
          'k'.repeat(62) + String(at).padStart(2, '0'),
          'x'.repeat(512),
        ]),
      ),
    ],
    ['include', [...includeValues]],
    ['service_tier', 'ultrafast'],
    ['truncation', 'auto'],
    ['reasoning', { effort: 'minimal', context: 'x', mode: 'y' }],
    ['reasoning', { effort: 'max' }],
    ['text', { format: { type: 'json_schema', schema: {} } }],
    ['text', { format: { type: 'json_schema', schema: { $ref: 'https://example.com/s' } } }],
    ['text', { format: { type: 'json_schema', schema: {}, strict: true } }],
    ['text', { format: { type: 'json_object' } }],
    ['tool_choice', 'auto'],
    ['tool_choice', 'none'],
    ['previous_response_id', 'create-response_x'],
  ])('with %s at the edge of what it may be: %j', (member, value) => {
    expect(refusal({ ...least, [member]: value })).toBeUndefined();
  });

  it('in the background', () => {
    expect(refusal({ ...least, background: true })).toBeUndefined();
    expect(refusal({ ...least, background: true, store: true })).toBeUndefined();
  });

  it('without input of its own when it continues another', () => {
    expect(parseCreateResponse({ model: 'm', input: [], previous_response_id: 'x' }).input).toEqual([]);
  });

  describe('whose tools are run elsewhere', () => {
    const search = { type: 'web_search', external_web_access: false };
    const codex = { client_metadata: { 'x-codex-installation-id': 'x' } };
    const hostedTools = { simulator: ['web_search'] } as const;
    const parse = (request: object) => parseCreateResponse({ ...least, ...request }, { hostedTools });

    it('by its upstream, which is asked for them and for a choice of one', () => {
      const parsed = parse({ tools: [search, tool], tool_choice: { type: 'web_search' } });
      expect(parsed).toMatchObject({
        tools: [tool],
        hosted_tools: [search],
        hosted_tool_choice: { type: 'web_search' },
      });
      expect(parsed.tool_choice).toBeUndefined();
      expect(parse({ tools: [search], tool_choice: 'required' }).tool_choice).toBe('required');
    });

    it('by the upstream of another model alone', () => {
      expect(() => parse({ model: 'other', tools: [search] })).toThrow("Tools of type 'web_search'");
      expect(() => parse({ model: 'toString', tools: [search] })).toThrow("Tools of type 'web_search'");
      expect(() => parse({ tools: [search, { type: 'mcp' }] })).toThrow("Tools of type 'mcp'");
    });

    it('by nobody, of Codex, which sends them with each request and does without', () => {
      const tools = [search, tool, { type: 'namespace', tools: [] }];
      const { tool_choice: choice, ...parsed } = parseCreateResponse({ ...least, ...codex, tools });
      expect([choice, parsed.tools]).toEqual([undefined, [tool]]);
      expect(parsed).not.toHaveProperty('hosted_tools');
      expect(parse({ ...codex, tools })).toMatchObject({ tools: [tool], hosted_tools: [search] });
    });

    it('and takes nothing of that from a member of the same name', () => {
      const parsed = parse({ hosted_tools: [search], hosted_tool_choice: { type: 'web_search' } });
      expect(parsed).not.toHaveProperty('hosted_tools');
      expect(parsed).not.toHaveProperty('hosted_tool_choice');
    });
  });

  it('with custom tools, and a choice of one', () => {
    const custom = { type: 'custom', name: 'shell' };
    const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: "a"' };
    const tools = [custom, { ...custom, name: 'patch', description: 'Patches.', format: grammar }, tool];
    expect(parseCreateResponse({ ...least, tools }).tools).toEqual(tools);
    const set = { type: 'allowed_tools', mode: 'required', tools: [custom, tool] };
    for (const tool_choice of [custom, set, 'required']) {
      expect(parseCreateResponse({ ...least, tools, tool_choice }).tool_choice).toEqual(tool_choice);
    }
  });

  it('with a choice among its tools', () => {
    const choice = { type: 'allowed_tools', tools: [tool] };
    expect(parseCreateResponse({ ...least, tools: [tool], tool_choice: tool }).tool_choice).toEqual(tool);
    expect(parseCreateResponse({ ...least, tools: [tool], tool_choice: choice }).tool_choice).toEqual(choice);
  });
});

describe('input', () => {
  function parsed(...input: unknown[]) {
    return parseCreateResponse({ ...least, input }).input;
  }

  it('that is a text becomes one user message', () => {
    expect(parseCreateResponse(least).input).toEqual([message([{ type: 'input_text', text: 'hi' }])]);
  });

  it('with a role and no type is a message, with only an id a reference', () => {
    expect(parsed({ role: 'developer', content: 'x' })).toEqual([message('x', 'developer')]);
    expect(parsed({ id: 'msg_1' }, { type: null, id: 'msg_1' })).toEqual([
      { type: 'item_reference', id: 'msg_1' },
      { type: 'item_reference', id: 'msg_1' },
    ]);
  });

  it('keeps items of hosted tools as they are', () => {
    const search = { type: 'web_search_call', id: 'ws_1', action: { query: 'x' } };
    expect(parsed(search)).toEqual([search]);
  });

  it.each([
    ['a data URL', png],
    ['a data URL in the alphabet of URLs', 'data:image/png;base64,_-8'],
    ['an address', 'https://a.example/cat.png'],
  ])('takes an image as %s', (_what, image_url) => {
    expect(
      refusal({ ...least, input: [message([{ type: 'input_image', image_url, detail: 'original' }])] }),
    ).toBeUndefined();
  });

  it('takes what an assistant said before', () => {
    const parts = [
      { type: 'output_text', text: 'a', annotations: [{ type: 'url_citation' }], logprobs: [] },
      { type: 'refusal', refusal: 'b' },
      { type: 'input_text', text: 'c' },
    ];
    const [item] = parsed({ ...message(parts, 'assistant'), phase: 'commentary' });
    expect(item).toMatchObject({
      role: 'assistant',
      phase: 'commentary',
      content: [{ text: 'a' }, { refusal: 'b' }, { text: 'c' }],
    });
  });

  it('takes reasoning with its raw content, and without a seal', () => {
    const reasoning = {
      type: 'reasoning',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'x' }],
      encrypted_content: null,
    };
    expect(parsed(reasoning)).toEqual([reasoning]);
  });

  it('may answer a call without its id when it names the tool', () => {
    expect(
      refusal({
        ...least,
        input: [{ type: 'function_call_output', call_id: null, name: 'add', output: 'x' }],
      }),
    ).toBeUndefined();
  });

  it('tells which outputs answer calls from elsewhere', () => {
    const output = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'x' }) as const;
    const custom = { type: 'custom_tool_call_output', call_id: 'call_3', output: 'x' };
    expect(openToolOutputs(parsed(call, output('call_1'), output('call_2'), custom))).toEqual(
      new Set(['call_2', 'call_3']),
    );
    expect(openToolOutputs(parsed(output('call_1'), call))).toEqual(new Set(['call_1']));
  });
});
