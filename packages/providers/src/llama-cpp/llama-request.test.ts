import { parseCreateResponse } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { llamaRequest } from './llama-request.ts';

const requestOf = (members: object = {}, contextTokens = 1000) =>
  llamaRequest(parseCreateResponse({ model: 'm', input: 'Hello', ...members }), {
    providerId: 'here',
    contextTokens,
  });
const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
const format = (more: object = {}) => ({ format: { type: 'json_schema', name: 'n', schema, ...more } });
const tools = [
  { type: 'function', name: 'look', description: 'Looks', parameters: schema },
  { type: 'function', name: 'wait' },
];
const objectOf = (properties: object) => ({ type: 'object', properties });

describe('a request to the process of a model', () => {
  it('samples as llama.cpp does, unless the client says how', () => {
    expect(requestOf().sampling).toEqual({
      temperature: 0.8,
      topK: 40,
      topP: 0.95,
      minP: 0.05,
      repeatPenalty: false,
    });
    expect(requestOf({ temperature: 0, top_p: 0.5, frequency_penalty: 1 }).sampling).toMatchObject({
      temperature: 0,
      topP: 0.5,
      repeatPenalty: { penalty: 1, frequencyPenalty: 1, presencePenalty: 0 },
    });
  });

  it('passes on what bounds the answer', () => {
    expect(
      requestOf({ max_output_tokens: 20, truncation: 'auto', reasoning: { effort: 'none' } }),
    ).toMatchObject({ maxTokens: 20, truncates: true, mayThink: false });
    expect(requestOf()).toMatchObject({ truncates: false, mayThink: true });
    expect(requestOf()).not.toHaveProperty('maxTokens');
  });

  it('tells the model of functions that it may call', () => {
    const request = requestOf({ tools, parallel_tool_calls: false });
    expect(request).toMatchObject({ isChoice: false, maxFunctionCalls: 1 });
    expect(request.functions).toEqual({
      look: { description: 'Looks', params: objectOf({ a: { type: 'string' } }) },
      wait: { params: objectOf({}) },
    });
  });

  it('tells it of none when it must call none', () => {
    expect(requestOf({ tools, tool_choice: 'none' })).not.toHaveProperty('functions');
  });

  it('holds a model that has to call a function to its name and its arguments', () => {
    const request = requestOf({ tools, tool_choice: 'required', instructions: 'Be brief.' });
    const look = objectOf({ function: { const: 'look' }, arguments: objectOf({ a: { type: 'string' } }) });
    const wait = objectOf({ function: { const: 'wait' }, arguments: objectOf({}) });
    expect(request).toMatchObject({ isChoice: true, schema: { oneOf: [look, wait] } });
    expect(request).not.toHaveProperty('functions');
    expect(request.history[0]).toMatchObject({
      type: 'system',
      text: expect.stringMatching(/^Be brief\.[^]*"look"/),
    });
    const named = requestOf({ tools, tool_choice: { type: 'function', name: 'wait' } });
    expect(named.schema).toEqual(wait);
    expect(named.history[0]).toMatchObject({ text: expect.not.stringContaining('look') });
  });

  it('lets a model choose between functions and an answer of the format', () => {
    const { schema: choices } = requestOf({ tools, text: format() });
    expect(choices).toMatchObject({
      oneOf: [{}, {}, objectOf({ answer: objectOf({ a: { type: 'string' } }) })],
    });
  });

  it('holds an answer to its format', () => {
    expect(requestOf({ text: format() })).toMatchObject({
      isChoice: false,
      schema: objectOf({ a: { type: 'string' } }),
    });
    expect(requestOf({ text: { format: { type: 'json_object' } } }).schema).toEqual({
      type: 'object',
      additionalProperties: true,
    });
  });

  it('refuses a strict format that no grammar can hold, and says which', () => {
    const text = format({ strict: true, schema: { type: 'string', pattern: 'a' } });
    expect(() => requestOf({ text })).toThrowError(
      expect.objectContaining({
        code: 'invalid_prompt',
        disposition: 'fail',
        param: 'text.format.schema',
        publicMessage: expect.stringContaining("'pattern'"),
      }),
    );
  });

  it('refuses what cannot fit into the context, without counting its tokens', () => {
    expect(() => requestOf({ input: 'x'.repeat(20_000) })).toThrowError(
      expect.objectContaining({ code: 'context_length_exceeded', disposition: 'fail' }),
    );
  });

  it('leaves out the oldest of it when it may', () => {
    const turns = Array.from({ length: 20 }, (_, turn) => [
      { role: 'user', content: 'x'.repeat(2000) },
      { role: 'assistant', content: `answer ${turn}` },
    ]);
    const input = [...turns.flat(), { role: 'user', content: 'last' }];
    const { history } = requestOf({ input, instructions: 'Be brief.', truncation: 'auto' });
    expect(history[0]).toEqual({ type: 'system', text: 'Be brief.' });
    expect(history.at(-1)).toEqual({ type: 'user', text: 'last' });
    expect(JSON.stringify(history).length).toBeLessThan(16_000 + 100);
  });
});
