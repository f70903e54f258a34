import { describe, expect, it } from 'vitest';
import { parseChatRequest } from './chat/chat-request.ts';
import { parseMessageRequest } from './messages/message-request.ts';

const marked = { cache_control: { type: 'ephemeral' } };
const forAnHour = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const text = (value: string, more: object = {}) => ({ type: 'text', text: value, ...more });
const hello = { role: 'user', content: 'Hello' };

const message = (members: object) =>
  parseMessageRequest({ model: 'm', max_tokens: 100, messages: [hello], ...members }).request;
const chat = (members: object) => parseChatRequest({ model: 'm', messages: [hello], ...members }).request;
const problem = (ask: () => unknown): unknown => {
  try {
    ask();
  } catch (error) {
    return error;
  }
  return undefined;
};
const invalid = (param: string) => ({ status: 400, code: 'invalid_value', param });

describe('the marks of a message', () => {
  const tool = (name: string, more: object = {}) => ({ name, input_schema: { type: 'object' }, ...more });

  it('stand beside the request, in terms of its tools and items', () => {
    const request = message({
      tools: [tool('look'), tool('find', marked)],
      system: [text('Be brief.'), text('Be kind.', forAnHour)],
      messages: [
        { role: 'user', content: [text('Look.', marked), text('Now.')] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'look', input: {} }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'A cat.', ...marked }],
        },
      ],
    });
    expect(request.cache_breakpoints).toEqual([
      { at: 'tool', index: 1 },
      { at: 'input', index: 0, part: 1, ttl: '1h' },
      { at: 'input', index: 1, part: 0 },
      { at: 'input', index: 3 },
    ]);
    expect(JSON.stringify([request.input, request.tools])).not.toContain('cache');
  });

  it('are found at every block that may have one', () => {
    const png = { type: 'base64', media_type: 'image/png', data: 'AAAA' };
    const plain = { type: 'text', media_type: 'text/plain', data: 'Notes.' };
    const asked = message({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: png, ...marked },
            { type: 'document', source: plain, title: 'Plan', ...marked },
          ],
        },
        {
          role: 'assistant',
          content: [
            text(''),
            text('Well.', marked),
            { type: 'tool_use', id: 'c', name: 'f', input: {}, ...marked },
          ],
        },
        hello,
      ],
    });
    expect(asked.cache_breakpoints).toEqual([
      { at: 'input', index: 0, part: 0 },
      // The title of the document is a part before it.
      { at: 'input', index: 0, part: 2 },
      { at: 'input', index: 1, part: 0 },
      { at: 'input', index: 2 },
    ]);
    const result = { type: 'tool_result', tool_use_id: 'c', content: [text('a'), text('b', marked)] };
    expect(message({ messages: [{ role: 'user', content: [result] }] }).cache_breakpoints).toEqual([
      { at: 'input', index: 0, part: 1 },
    ]);
  });

  it('may be one for the whole, which is that of the last block', () => {
    expect(message({ ...forAnHour, system: 'Be brief.' }).cache_breakpoints).toEqual([
      { at: 'input', index: 1, ttl: '1h' },
    ]);
    const messages = [{ role: 'user', content: [text('Hello'), text('you', marked)] }];
    expect(message({ ...marked, messages }).cache_breakpoints).toEqual([{ at: 'input', index: 0, part: 1 }]);
  });

  it('are absent without any, and may be null', () => {
    expect(message({})).not.toHaveProperty('cache_breakpoints');
    expect(message({ system: [text('Hm.', { cache_control: null })] })).not.toHaveProperty(
      'cache_breakpoints',
    );
    const ttl = { cache_control: { type: 'ephemeral', ttl: null } };
    expect(message(ttl).cache_breakpoints).toEqual([{ at: 'input', index: 0 }]);
  });

  it.each([
    ['system[0].cache_control.type', { system: [text('Hm.', { cache_control: { type: 'forever' } })] }],
    [
      'tools[0].cache_control.ttl',
      { tools: [tool('f', { cache_control: { type: 'ephemeral', ttl: '2h' } })] },
    ],
    [
      'messages[0].content[0].cache_control.type',
      { messages: [{ role: 'user', content: [text('Hm.', { cache_control: { type: 'long' } })] }] },
    ],
    [
      'messages[0].content[4].cache_control',
      { messages: [{ role: 'user', content: Array.from({ length: 6 }, () => text('Hm.', marked)) }] },
    ],
    ['cache_control', { ...marked, system: Array.from({ length: 4 }, () => text('Hm.', marked)) }],
  ])('are refused at %s where they are wrong or too many', (param, members) => {
    expect(problem(() => message(members))).toMatchObject(invalid(param));
  });

  it('name the document that has one inside', () => {
    const source = { type: 'content', content: Array.from({ length: 5 }, () => text('Hm.', marked)) };
    const messages = [{ role: 'user', content: [{ type: 'document', source }] }];
    expect(problem(() => message({ messages }))).toMatchObject(
      invalid('messages[0].content[0].source.content[4].cache_control'),
    );
  });
});

describe('the marks of a chat completion', () => {
  const tool = (members: object = {}, more: object = {}) => ({
    type: 'function',
    function: { name: 'f', ...members },
    ...more,
  });
  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };

  it('are found where clients of gateways put them', () => {
    const request = chat({
      tools: [tool({}, marked), tool(marked)],
      messages: [
        { role: 'system', content: [text('Be brief.', forAnHour)] },
        { role: 'user', content: [text('Look.'), text('Now.', marked)] },
      ],
    });
    expect(request.cache_breakpoints).toEqual([
      { at: 'tool', index: 0 },
      { at: 'tool', index: 1 },
      { at: 'input', index: 0, part: 0, ttl: '1h' },
      { at: 'input', index: 1, part: 1 },
    ]);
    expect(JSON.stringify([request.input, request.tools])).not.toContain('cache');
  });

  it('are found at calls, outputs and whole messages', () => {
    const request = chat({
      messages: [
        { ...hello, ...marked },
        {
          role: 'assistant',
          content: [text(''), text('Well.', marked)],
          tool_calls: [{ ...call, ...marked }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'A cat.', ...marked },
      ],
    });
    expect(request.cache_breakpoints).toEqual([
      { at: 'input', index: 0 },
      { at: 'input', index: 1, part: 0 },
      { at: 'input', index: 2 },
      { at: 'input', index: 3 },
    ]);
  });

  it.each([
    [
      'messages[0].content[0].cache_control.type',
      { messages: [{ role: 'user', content: [text('Hm.', { cache_control: { type: 'x' } })] }] },
    ],
    [
      'tools[4].function.cache_control',
      { tools: [tool(marked), tool(marked), tool({}, marked), tool(marked), tool(marked)] },
    ],
    ['messages[4].cache_control', { messages: Array.from({ length: 5 }, () => ({ ...hello, ...marked })) }],
  ])('are refused at %s where they are wrong or too many', (param, members) => {
    expect(problem(() => chat(members))).toMatchObject(invalid(param));
  });
});
