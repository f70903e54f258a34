import type { OutputItem } from '@sluice/contract';
import type { StoredRequest } from '@sluice/response-store';
import { describe, expect, it } from 'vitest';
import { findBrokenPromise } from './broken-promise.ts';
import { checkJson, type JsonCheck } from './check-json.ts';

const parameters = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
const loose = { type: 'function' as const, name: 'loose', parameters };
const strict = { ...loose, name: 'strict', strict: true };
const format = { type: 'json_schema' as const, name: 'n', schema: parameters, strict: true };
const tools = [loose, strict];

const call = (name: string, args = '{"a":1}'): OutputItem => ({
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  status: 'in_progress',
  name,
  arguments: args,
});
const message = (...texts: string[]): OutputItem => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'in_progress',
  content: texts.map((text) => ({ type: 'output_text', text, annotations: [], logprobs: [] })),
});
const refusal: OutputItem = { ...message(), content: [{ type: 'refusal', refusal: 'No.' }] } as OutputItem;
const commentary: OutputItem = { ...message('Let me see.'), phase: 'commentary' } as OutputItem;

const shell = { type: 'custom' as const, name: 'shell' };
const customCall: OutputItem = {
  type: 'custom_tool_call',
  id: 'ctc_1',
  call_id: 'call_1',
  status: 'in_progress',
  name: 'shell',
  input: 'ls',
};

type Request = Omit<StoredRequest, 'model'>;

function find(request: Request, output: OutputItem[], finish: 'stop' | 'max_output_tokens' = 'stop') {
  const checkAll = (checks: readonly JsonCheck[]) => Promise.resolve(checks.map(checkJson));
  return findBrokenPromise({ request: { model: 'm', ...request }, output, finish }, checkAll);
}

describe('an answer', () => {
  it.each<[string, Request, OutputItem[]]>([
    ['calls where it may', { tools }, [call('loose')]],
    ['calls where it must', { tools, tool_choice: 'required' }, [call('loose')]],
    [
      'calls the custom tool that it must',
      { tools: [shell], tool_choice: { type: 'custom', name: 'shell' } },
      [customCall],
    ],
    ['says something where it may call', { tools }, [message('Hi')]],
    ['says something with a demand that no tool is left for', { tool_choice: 'required' }, [message('Hi')]],
    ['has arguments that satisfy strict parameters', { tools }, [call('strict')]],
    ['has arguments that satisfy no parameters, which are not strict', { tools }, [call('loose', 'no')]],
    ['is JSON that satisfies a strict format', { text: { format } }, [message('{"a":1}')]],
    ['satisfies it after a commentary', { text: { format } }, [commentary, message('{"a":1}')]],
    ['refuses in place of a strict format', { text: { format } }, [refusal]],
    [
      'calls in place of a strict format',
      { tools, text: { format } },
      [message('One moment.'), call('strict')],
    ],
    [
      'is anything where the format is not strict',
      { text: { format: { ...format, strict: null } } },
      [message('Hi')],
    ],
  ])('that %s keeps its promises', async (_, request, output) => {
    expect(await find(request, output)).toBeUndefined();
  });

  it.each<[string, Request, OutputItem[], string, RegExp]>([
    ['does not call', { tools, tool_choice: 'required' }, [message('Hi')], 'tool_choice', /any of the tools/],
    ['refuses to call', { tools, tool_choice: 'required' }, [refusal], 'tool_choice', /any of the tools/],
    [
      'does not call the named function',
      { tools, tool_choice: { type: 'function', name: 'strict' } },
      [],
      'tool_choice',
      /the function tool 'strict'/,
    ],
    [
      'calls nothing of the set',
      {
        tools,
        tool_choice: {
          type: 'allowed_tools',
          mode: 'required',
          tools: [{ type: 'function', name: 'loose' }],
        },
      },
      [],
      'tool_choice',
      /any of the tools/,
    ],
    [
      'has strict arguments that are no JSON',
      { tools },
      [call('strict', '{"a":')],
      'tools',
      /'strict' is not JSON/,
    ],
    [
      'has strict arguments that do not satisfy',
      { tools },
      [call('loose'), call('strict', '{"a":"secret"}')],
      'tools',
      /'strict' does not satisfy/,
    ],
    ['is no JSON', { text: { format } }, [message('My secret')], 'text.format', /strict format is not JSON/],
    ['is nothing', { text: { format } }, [], 'text.format', /strict format is not JSON/],
    [
      'does not satisfy the format',
      { text: { format } },
      [message('{"b":"secret"}')],
      'text.format',
      /does not satisfy/,
    ],
    [
      'satisfies it in one part alone',
      { text: { format } },
      [message('{"a":1}', '{"b":1}')],
      'text.format',
      /does not satisfy/,
    ],
  ])('that %s breaks one', async (_, request, output, param, sentence) => {
    const broken = await find(request, output);
    expect(broken).toMatchObject({ code: 'invalid_model_output', disposition: 'retry', param });
    expect(broken?.publicMessage).toMatch(sentence);
    expect(broken?.publicMessage).not.toContain('secret');
  });

  it('that was cut off has promised nothing', async () => {
    const request: Request = { tools, tool_choice: 'required', text: { format } };
    expect(await find(request, [message('{"a"')], 'max_output_tokens')).toBeUndefined();
  });

  it('that cannot be checked is not asked for again', async () => {
    const answer = {
      request: { model: 'm', text: { format } },
      output: [message('{}')],
      finish: 'stop',
    } as const;
    const broken = await findBrokenPromise(answer, () => Promise.resolve(['unknown']));
    expect(broken).toMatchObject({ code: 'invalid_model_output', disposition: 'fail' });
    expect(broken?.publicMessage).toMatch(/could not be checked/);
  });
});
