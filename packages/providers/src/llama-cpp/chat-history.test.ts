import { parseCreateResponse } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { chatHistory } from './chat-history.ts';

const historyOf = (members: object) => chatHistory(parseCreateResponse({ model: 'm', ...members }), 'here');
const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":1}' };

describe('a chat history', () => {
  it('begins with the instructions and what the system says first', () => {
    const input = [
      { role: 'developer', content: 'Be kind.' },
      { role: 'user', content: 'Hello' },
      { role: 'system', content: 'Now in French.' },
    ];
    expect(historyOf({ instructions: 'Be brief.', input })).toEqual([
      { type: 'system', text: 'Be brief.\n\nBe kind.' },
      { type: 'user', text: 'Hello' },
      { type: 'system', text: 'Now in French.' },
    ]);
  });

  it('joins neighbouring messages of a user, and the parts of one', () => {
    const parts = ['one', 'two'].map((text) => ({ type: 'input_text', text }));
    const input = [
      { role: 'user', content: parts },
      { role: 'user', content: 'three' },
    ];
    expect(historyOf({ input })).toEqual([{ type: 'user', text: 'one\ntwo\n\nthree' }]);
  });

  it('has the output of a function with its call, in the turn of the model', () => {
    const input = [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: 'Let me see.' },
      call,
      { type: 'function_call_output', call_id: 'c', output: '{"t":5}' },
    ];
    expect(historyOf({ input })).toEqual([
      { type: 'user', text: 'Go' },
      {
        type: 'model',
        response: ['Let me see.', { type: 'functionCall', name: 'f', params: { a: 1 }, result: { t: 5 } }],
      },
    ]);
  });

  it('keeps an output that is not an object as it is', () => {
    const input = [call, { type: 'function_call_output', call_id: 'c', output: 'sunny' }];
    expect(historyOf({ input })).toEqual([
      { type: 'model', response: [{ type: 'functionCall', name: 'f', params: { a: 1 }, result: 'sunny' }] },
    ]);
  });

  it('lets the model begin anew after what it said last', () => {
    const input = [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi' },
    ];
    expect(historyOf({ input }).slice(1)).toEqual([
      { type: 'model', response: ['Hi'] },
      { type: 'model', response: [] },
    ]);
  });

  it.each([
    ['input_image', { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }],
    ['input_file', { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,YQ==' }],
  ])('refuses a part of type %s', (type, part) => {
    expect(() => historyOf({ input: [{ role: 'user', content: [part] }] })).toThrowError(
      expect.objectContaining({
        code: 'invalid_prompt',
        disposition: 'fail',
        param: 'input',
        publicMessage: expect.stringContaining(type),
      }),
    );
  });
});
