import { describe, expect, it } from 'vitest';
import { responseFor, withEnd } from './build-response.ts';
import { failureBody } from './error-body.ts';
import { cancelled, completed, failed, incomplete, nothingProduced } from './lifecycle.ts';
import { parseCreateResponse } from './parse-create-response.ts';
import { responseBodySchema, responseEndSchema, responseSchema } from './response.ts';
import { requestedTier } from './service-tier.ts';

const acceptance = {
  id: 'create-response_abcdefghijklmnopqrstuvwxyz',
  createdAt: 1_700_000_000,
  serviceTier: 'default',
} as const;

function responseTo(members: object = {}) {
  const { input: _, ...request } = parseCreateResponse({ model: 'simulator', input: 'hi', ...members });
  return responseFor(request, acceptance);
}

/** Every member of a response apart from `object`, which the mount adds, and whether it may be null. */
const required = {
  id: 'never null',
  created_at: 'never null',
  completed_at: 'nullable',
  status: 'never null',
  incomplete_details: 'nullable',
  error: 'nullable',
  model: 'never null',
  output: 'never null',
  output_text: 'never null',
  usage: 'nullable',
  instructions: 'nullable',
  previous_response_id: 'nullable',
  tools: 'never null',
  tool_choice: 'never null',
  parallel_tool_calls: 'never null',
  text: 'never null',
  temperature: 'never null',
  top_p: 'never null',
  presence_penalty: 'never null',
  frequency_penalty: 'never null',
  top_logprobs: 'never null',
  reasoning: 'nullable',
  max_output_tokens: 'nullable',
  max_tool_calls: 'nullable',
  truncation: 'never null',
  store: 'never null',
  background: 'never null',
  service_tier: 'never null',
  metadata: 'never null',
  safety_identifier: 'nullable',
  prompt_cache_key: 'nullable',
};

const usage = {
  input_tokens: 1,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 2,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 3,
};
const everything = {
  instructions: 'be brief',
  previous_response_id: 'create-response_x',
  parallel_tool_calls: false,
  temperature: 0.5,
  top_p: 0.5,
  presence_penalty: 1,
  frequency_penalty: 1,
  top_logprobs: 2,
  reasoning: { effort: 'low' },
  max_output_tokens: 16,
  max_tool_calls: 1,
  truncation: 'auto',
  store: true,
  background: true,
  metadata: { a: 'b' },
  safety_identifier: 's',
  prompt_cache_key: 'p',
};

/** A member of a client whose tools are dropped. */
const codex = { client_metadata: { 'x-codex-installation-id': 'x' } };

describe('response object', () => {
  const responses = {
    'from the least request': responseTo(),
    'from a full request': responseTo(everything),
    completed: withEnd(responseTo(), completed({ output: [], usage }, 1_700_000_001)),
    incomplete: withEnd(responseTo(), incomplete({ output: [], usage }, 'max_output_tokens')),
    failed: withEnd(responseTo(), failed(nothingProduced, failureBody('timeout'))),
    cancelled: withEnd(responseTo(), cancelled(nothingProduced)),
  };

  it.each(Object.entries(responses))(
    'has every member, and null only where it may: %s',
    (_name, response) => {
      expect(Object.keys(response).toSorted()).toEqual(Object.keys(required).toSorted());
      const nulls = Object.entries(response).filter(([, value]) => value === null);
      const allowed = Object.entries(required).filter(([, rule]) => rule === 'nullable');
      expect(allowed.map(([name]) => name)).toEqual(expect.arrayContaining(nulls.map(([name]) => name)));
      expect(Object.values(response)).not.toContain(undefined);
      expect(responseSchema.parse(response)).toEqual(response);
      expect(responseBodySchema.parse({ ...response, object: 'response' })).toMatchObject(response);
      expect(responseEndSchema.parse(response)).toEqual({
        status: response.status,
        completed_at: response.completed_at,
        incomplete_details: response.incomplete_details,
        error: response.error,
        output: response.output,
        usage: response.usage,
      });
    },
  );

  it('is refused with another word in object, and without one', () => {
    const response = responseTo();
    expect(responseBodySchema.safeParse(response).success).toBe(false);
    expect(responseBodySchema.safeParse({ ...response, object: 'realtime' }).success).toBe(false);
  });

  it('fills in what a request leaves open', () => {
    expect(responseTo()).toMatchObject({
      status: 'queued',
      tools: [],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      text: { format: { type: 'text' } },
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      top_logprobs: 0,
      reasoning: null,
      max_output_tokens: null,
      truncation: 'disabled',
      store: true,
      background: false,
      metadata: {},
      output: [],
      output_text: '',
      usage: null,
      service_tier: 'default',
    });
  });

  it('echoes what a request asks for', () => {
    expect(responseTo(everything)).toMatchObject({
      ...everything,
      reasoning: { effort: 'low', summary: null },
    });
    expect(responseTo({ user: 'u' }).user).toBe('u');
  });

  it('echoes tools with all their members, and only those that can run', () => {
    const tools = [{ type: 'web_search' }, { type: 'function', name: 'add' }];
    expect(responseTo({ tools, ...codex }).tools).toEqual([
      { type: 'function', name: 'add', description: null, parameters: null, strict: null },
    ]);
  });

  it('echoes custom tools, whose input is text unless they say otherwise', () => {
    const custom = { type: 'custom', name: 'shell' };
    const patch = {
      type: 'custom',
      name: 'patch',
      description: 'Patches.',
      format: { type: 'grammar', syntax: 'regex', definition: 'a+' },
    };
    const { tools, tool_choice: choice } = responseTo({ tools: [custom, patch], tool_choice: custom });
    expect(tools).toEqual([{ ...custom, format: { type: 'text' } }, patch]);
    expect(choice).toEqual(custom);
  });

  it('echoes a set of allowed tools with its mode', () => {
    const tools = [{ type: 'function', name: 'add' }];
    const choice = { type: 'allowed_tools', tools };
    expect(responseTo({ tools, tool_choice: choice }).tool_choice).toEqual({ ...choice, mode: 'auto' });
  });

  it('echoes the choice of a dropped tool as auto', () => {
    expect(responseTo({ tool_choice: { type: 'web_search' }, ...codex }).tool_choice).toBe('auto');
  });

  it('echoes a whole schema', () => {
    const schema = { type: 'object' };
    expect(responseTo({ text: { format: { type: 'json_schema', name: 'a', schema } } }).text.format).toEqual({
      type: 'json_schema',
      name: 'a',
      schema,
      description: null,
      strict: false,
    });
  });

  it('leaves out a verbosity that was not asked for', () => {
    expect(responseTo({ text: { verbosity: null } }).text).toEqual({ format: { type: 'text' } });
    expect(responseTo({ text: { verbosity: 'low' } }).text).toEqual({
      format: { type: 'text' },
      verbosity: 'low',
    });
  });

  it.each([
    ['none', 'none'],
    ['minimal', 'low'],
    ['low', 'low'],
    ['high', 'high'],
    ['xhigh', 'xhigh'],
    ['max', 'xhigh'],
  ])('echoes the effort %s as %s', (effort, echoed) => {
    expect(responseTo({ reasoning: { effort } }).reasoning?.effort).toBe(echoed);
  });

  it('takes either name of the wish for a summary', () => {
    expect(responseTo({ reasoning: { generate_summary: 'auto' } }).reasoning?.summary).toBe('auto');
    expect(
      responseTo({ reasoning: { summary: 'concise', generate_summary: 'auto' } }).reasoning?.summary,
    ).toBe('concise');
  });

  it.each([
    [undefined, 'default'],
    ['auto', 'default'],
    ['default', 'default'],
    ['flex', 'flex'],
    ['priority', 'priority'],
    ['scale', 'priority'],
    ['fast', 'priority'],
    ['ultrafast', 'priority'],
  ] as const)('serves the tier %s as %s', (asked, served) => {
    expect(requestedTier(asked)).toBe(served);
  });

  it('joins the texts of its messages', () => {
    const text = (said: string) =>
      ({ type: 'output_text', text: said, annotations: [], logprobs: [] }) as const;
    const item = { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant' } as const;
    const output = [
      { ...item, content: [text('a'), { type: 'refusal', refusal: 'no' } as const, text('b')] },
      { ...item, content: [text('c')] },
    ].map((each) => structuredClone(each)) as Parameters<typeof completed>[0]['output']; // readonly no longer
    expect(withEnd(responseTo(), completed({ output, usage }, 1)).output_text).toBe('abc');
  });
});

describe('ends', () => {
  it('set what belongs to their status and nothing else', () => {
    const error = failureBody('timeout');
    const nothing = { completed_at: null, incomplete_details: null, error: null, output: [], usage: null };
    expect(completed(nothingProduced, 5)).toEqual({ ...nothing, status: 'completed', completed_at: 5 });
    expect(incomplete(nothingProduced, 'content_filter')).toEqual({
      ...nothing,
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
    });
    expect(failed(nothingProduced, error)).toEqual({ ...nothing, status: 'failed', error });
    expect(cancelled(nothingProduced)).toEqual({
      ...nothing,
      status: 'cancelled',
      incomplete_details: { reason: 'cancelled' },
    });
  });
});
