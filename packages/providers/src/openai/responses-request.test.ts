import { type ContextItem, type Generation, parseCreateResponse } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { printOpaque } from './opaque-reasoning.ts';
import { responsesRequestBody } from './responses-request.ts';

type ReasoningItem = Extract<ContextItem, { type: 'reasoning' }>;

const options = { providerId: 'up', fetchesUrls: false, isOpenAi: false };

function bodyOf(request: object, settings = options) {
  // Nothing here is sealed, so the context is the input.
  const generation = parseCreateResponse({ model: 'm', ...request }) as Generation;
  return responsesRequestBody(generation, 'upstream-model', settings);
}

const withPart = (part: object) => ({ input: [{ role: 'user', content: [part] }] });

describe('responsesRequestBody', () => {
  it('sends what every request has and no member the client did not choose', () => {
    expect(bodyOf({ input: 'Hi' })).toEqual({
      model: 'upstream-model',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
      stream: true,
      store: false,
    });
  });

  it('passes on the tools that the upstream runs, beside those of the client', () => {
    const search = { type: 'web_search', search_context_size: 'low' };
    const own = { type: 'function', name: 'f' };
    const request = { model: 'm', input: 'Hi', tools: [search, own], max_tool_calls: 3 };
    const hostedTools = { m: ['web_search'] } as const;
    const of = (more: object) =>
      responsesRequestBody(parseCreateResponse({ ...request, ...more }, { hostedTools }), 'up', options);
    expect(of({})).toMatchObject({ tools: [own, search], max_tool_calls: 3 });
    expect(of({ tool_choice: { type: 'web_search' } })['tool_choice']).toEqual({ type: 'web_search' });
    expect(of({ tools: [search], tool_choice: 'required' })).toMatchObject({
      tools: [search],
      tool_choice: 'required',
    });
    expect(bodyOf({ input: 'Hi', max_tool_calls: 3 })).not.toHaveProperty('max_tool_calls');
  });

  it('keeps items in their own shape without ids and statuses', () => {
    const input = [
      { type: 'message', id: 'msg_1', status: 'completed', role: 'developer', content: 'Be kind.' },
      {
        type: 'message',
        id: 'msg_2',
        role: 'assistant',
        phase: 'commentary',
        content: [
          { type: 'output_text', text: 'Hm' },
          { type: 'refusal', refusal: 'No' },
          { type: 'input_text', text: 'Sent as ours' },
        ],
      },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm' }] },
      { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '{}', namespace: 'n' },
      {
        type: 'function_call_output',
        id: 'fco_1',
        call_id: 'c1',
        output: [{ type: 'input_text', text: 'ok' }],
      },
      { type: 'web_search_call', id: 'ws_1' },
    ];
    expect(bodyOf({ input })['input']).toEqual([
      { type: 'message', role: 'developer', content: 'Be kind.' },
      {
        type: 'message',
        role: 'assistant',
        phase: 'commentary',
        content: [
          { type: 'output_text', text: 'Hm', annotations: [] },
          { type: 'refusal', refusal: 'No' },
          { type: 'output_text', text: 'Sent as ours' },
        ],
      },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'ok' }] },
    ]);
  });

  it('passes on what the client chose', () => {
    const chosen = {
      instructions: 'Be kind.',
      tools: [{ type: 'function', name: 'f', parameters: null, strict: null }],
      parallel_tool_calls: false,
      temperature: 0,
      max_output_tokens: 50,
      truncation: 'auto',
      prompt_cache_key: 'k',
      safety_identifier: 's',
      user: 'u',
    };
    expect(bodyOf({ input: 'Hi', ...chosen })).toMatchObject(chosen);
  });

  it('gives an allowed set the mode that upstreams want to see', () => {
    const tool = { type: 'function', name: 'f' };
    const body = bodyOf({
      input: 'Hi',
      tools: [tool],
      tool_choice: { type: 'allowed_tools', tools: [tool] },
    });
    expect(body['tool_choice']).toEqual({ type: 'allowed_tools', mode: 'auto', tools: [tool] });
  });

  it('sends the effective effort and the summary under its newer name', () => {
    const body = bodyOf({ input: 'Hi', reasoning: { effort: 'max', generate_summary: 'auto' } });
    expect(body['reasoning']).toEqual({ effort: 'xhigh', summary: 'auto' });
  });

  it('sends a format beside the verbosity', () => {
    const body = bodyOf({ input: 'Hi', text: { format: { type: 'json_object' }, verbosity: 'low' } });
    expect(body['text']).toEqual({ format: { type: 'json_object' }, verbosity: 'low' });
  });

  it('asks for logprobs only when they are included', () => {
    const included = { include: ['message.output_text.logprobs'], top_logprobs: 2 };
    expect(bodyOf({ input: 'Hi', ...included })).toMatchObject({
      include: ['message.output_text.logprobs'],
      top_logprobs: 2,
    });
    expect(bodyOf({ input: 'Hi', top_logprobs: 2 })).not.toHaveProperty('top_logprobs');
  });

  it('passes on custom tools, with their calls, outputs and choice', () => {
    const tools = [
      { type: 'custom', name: 'shell', description: 'Runs.', format: { type: 'text' } },
      { type: 'function', name: 'f' },
    ];
    const input = [
      { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c1', name: 'shell', input: 'ls' },
      { type: 'custom_tool_call_output', call_id: 'c1', output: 'a b' },
      { type: 'custom_tool_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'c' }] },
    ];
    const tool_choice = { type: 'custom', name: 'shell' };
    expect(bodyOf({ input, tools, tool_choice })).toMatchObject({
      tools,
      tool_choice,
      input: [
        { type: 'custom_tool_call', call_id: 'c1', name: 'shell', input: 'ls' },
        { type: 'custom_tool_call_output', call_id: 'c1', output: 'a b' },
        { type: 'custom_tool_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'c' }] },
      ],
    });
    // Without one among the tools, the upstream may not know what that is.
    expect(bodyOf({ input })['input']).toMatchObject([
      { type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{"input":"ls"}' },
      { type: 'function_call_output', call_id: 'c1', output: 'a b' },
      { type: 'function_call_output', call_id: 'c1' },
    ]);
  });

  it('passes on files and videos in the output of a tool', () => {
    const output = [
      { type: 'input_file', filename: 'a.pdf', file_data: 'JVBERi0=' },
      { type: 'input_video', video_url: 'data:video/mp4;base64,AAAA' },
    ];
    const input = [
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output },
    ];
    expect(bodyOf({ input })['input']).toMatchObject([{}, { call_id: 'c1', output }]);
  });

  it('asks for encrypted reasoning when the client wants to keep it', () => {
    expect(bodyOf({ input: 'Hi', include: ['reasoning.encrypted_content'] })['include']).toEqual([
      'reasoning.encrypted_content',
    ]);
  });

  describe('gives reasoning back', () => {
    const summary = [{ type: 'summary_text' as const, text: 'Hm' }];
    const opaque = (origin: string) => ({ origin, data: printOpaque('gAAA', 'rs_theirs') });
    const inputOf = (item: Partial<ReasoningItem>, settings = options) =>
      responsesRequestBody(
        { input: [{ type: 'reasoning', id: 'rs_ours', summary, ...item }] },
        'm',
        settings,
      )['input'];

    it('with what this upstream has made of it, under its id', () => {
      expect(inputOf({ opaque: opaque('openai-responses:up') })).toEqual([
        { type: 'reasoning', id: 'rs_theirs', encrypted_content: 'gAAA', summary },
      ]);
    });

    it('but never with what another upstream has made', () => {
      for (const origin of ['openai-responses:other', 'anthropic:up']) {
        expect(inputOf({ opaque: opaque(origin) })).toEqual([]);
      }
    });

    it('as raw text where there is one, unless the upstream is OpenAI', () => {
      const content = [
        { type: 'reasoning_text' as const, text: 'First, ' },
        { type: 'reasoning_text' as const, text: 'then.' },
      ];
      expect(inputOf({ content })).toEqual([
        {
          type: 'reasoning',
          id: 'rs_ours',
          summary,
          content: [{ type: 'reasoning_text', text: 'First, then.' }],
        },
      ]);
      expect(inputOf({ content }, { ...options, isOpenAi: true })).toEqual([]);
    });
  });

  it('holds files and pictures to the media policy', () => {
    const file = withPart({ type: 'input_file', file_url: 'https://example.com/a.pdf' });
    expect(() => bodyOf(file)).toThrowError(expect.objectContaining({ code: 'invalid_prompt' }));
    expect(bodyOf(file, { ...options, fetchesUrls: true })['input']).toMatchObject([
      { content: [{ type: 'input_file', file_url: 'https://example.com/a.pdf' }] },
    ]);
    const picture = withPart({ type: 'input_image', image_url: 'https://example.com:8443/a.png' });
    expect(() => bodyOf(picture, { ...options, fetchesUrls: true })).toThrowError(
      expect.objectContaining({ code: 'invalid_prompt' }),
    );
  });
});
