import { describe, expect, it } from 'vitest';
import { canonicalJson } from './canonical-json.ts';
import { parseCreateResponse } from './parse-create-response.ts';
import { listedItem, outputAsInput } from './stored-items.ts';
import type { OutputItem } from './output.ts';

const responseId = `create-response_${'a'.repeat(32)}`;

describe('input items of a stored response', () => {
  it('are listed with an id, a status, and their text in parts', () => {
    const { input } = parseCreateResponse({
      model: 'm',
      input: [
        { role: 'user', content: 'hi', id: 'msg_of_the_client' },
        { role: 'assistant', content: 'hello' },
        { type: 'function_call', call_id: 'call_1', name: 'add', arguments: '{}' },
      ],
    });
    const listed = input.map((item, index) => listedItem(item, responseId, index));
    expect(listed).toMatchObject([
      { status: 'completed', content: [{ type: 'input_text', text: 'hi' }] },
      { status: 'completed', content: [{ type: 'output_text', text: 'hello', annotations: [] }] },
      { status: 'completed', type: 'function_call', call_id: 'call_1' },
    ]);
    expect(listed.map(({ id }) => id.slice(0, 4))).toEqual(['msg_', 'msg_', 'fc_a']);
    expect(new Set(listed.map(({ id }) => id)).size).toBe(3);
  });
});

describe('output items of a stored response', () => {
  const output: OutputItem[] = [
    { type: 'reasoning', id: 'rs_1', status: 'completed', summary: [{ type: 'summary_text', text: 's' }] },
    {
      type: 'message',
      id: 'msg_1',
      status: 'completed',
      role: 'assistant',
      phase: 'commentary',
      content: [
        { type: 'output_text', text: 'a', annotations: [], logprobs: [] },
        { type: 'refusal', refusal: 'b' },
      ],
    },
    {
      type: 'function_call',
      id: 'fc_1',
      status: 'completed',
      call_id: 'call_1',
      name: 'add',
      arguments: '{}',
    },
    {
      type: 'custom_tool_call',
      id: 'ctc_1',
      status: 'completed',
      call_id: 'call_2',
      name: 'shell',
      input: 'ls',
    },
  ];

  it('are a valid input of what follows', () => {
    const input = output.map(outputAsInput);
    expect(parseCreateResponse({ model: 'm', input }).input).toEqual(input);
    expect(input).toMatchObject([
      { id: 'rs_1' },
      { id: 'msg_1', phase: 'commentary' },
      { id: 'fc_1', call_id: 'call_1' },
      { id: 'ctc_1', call_id: 'call_2', input: 'ls' },
    ]);
  });
});

describe('canonical JSON', () => {
  it('is the same for two spellings of one value', () => {
    const left = { b: [1, { d: null, c: 'x' }], a: undefined, e: true };
    const right = { e: true, b: [1, { c: 'x', d: null }] };
    expect(canonicalJson(left)).toBe(canonicalJson(right));
    expect(JSON.parse(canonicalJson(right))).toEqual(right);
  });

  it.each([
    [{ a: 1 }, { a: '1' }],
    [{ a: [1, 2] }, { a: [2, 1] }],
    [{ a: null }, {}],
    [{ a: { b: 1 } }, { a: 1, b: 1 }],
  ])('differs for two values: %j and %j', (left, right) => {
    expect(canonicalJson(left)).not.toBe(canonicalJson(right));
  });
});
