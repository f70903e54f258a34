import { parseCreateResponse } from '@sluice/contract';
import { parseChatRequest, parseMessageRequest } from '@sluice/protocols';
import { describe, expect, it } from 'vitest';
import { oneTestApi } from './kept-api.ts';
import { model } from './test-api.ts';

interface Conversation {
  name: string;
  response: { input: object[]; tools?: object[] };
  chat: { messages: object[]; tools?: object[] };
  message: { system?: unknown; messages: object[]; tools?: object[] };
}

const schema = { type: 'object', properties: { at: { type: 'integer' } } };
const png = { media_type: 'image/png', data: 'iVBORw0KGgo=' };
const dataUrl = 'data:image/png;base64,iVBORw0KGgo=';
const pdf = { media_type: 'application/pdf', data: 'JVBERi0=' };
const look = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{"at":1}' } });
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{"at":1}' });
const said = (role: string, content: string | object[]) => ({ type: 'message', role, content });
const input = (text: string) => ({ type: 'input_text', text });
const output = (text: string) => ({ type: 'output_text', text });
const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: { at: 1 } });

/** The same conversations as the clients of each protocol write them. */
const conversations: Conversation[] = [
  {
    name: 'a question',
    response: { input: [said('user', 'Hello')] },
    chat: { messages: [{ role: 'user', content: 'Hello' }] },
    message: { messages: [{ role: 'user', content: 'Hello' }] },
  },
  {
    name: 'a conversation with a system',
    response: {
      input: [
        said('system', 'Be brief.'),
        said('user', 'Hello'),
        said('assistant', [output('Hi!')]),
        said('user', [input('How are you?')]),
      ],
    },
    chat: {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi!' },
        { role: 'user', content: [{ type: 'text', text: 'How are you?' }] },
      ],
    },
    message: {
      system: 'Be brief.',
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: [{ type: 'text', text: 'Hi!' }] },
        { role: 'user', content: [{ type: 'text', text: 'How are you?' }] },
      ],
    },
  },
  {
    name: 'images and a file',
    response: {
      input: [
        said('user', [
          input('What are these?'),
          { type: 'input_image', image_url: dataUrl },
          { type: 'input_image', image_url: 'https://a.example/b.png' },
          {
            type: 'input_file',
            filename: 'plan.pdf',
            file_data: 'data:application/pdf;base64,JVBERi0=',
          },
        ]),
      ],
    },
    chat: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What are these?' },
            { type: 'image_url', image_url: { url: dataUrl } },
            { type: 'image_url', image_url: { url: 'https://a.example/b.png' } },
            {
              type: 'file',
              file: { filename: 'plan.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
            },
          ],
        },
      ],
    },
    message: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What are these?' },
            { type: 'image', source: { type: 'base64', ...png } },
            { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
            { type: 'document', source: { type: 'base64', ...pdf }, title: 'plan.pdf' },
          ],
        },
      ],
    },
  },
  {
    name: 'thoughts, two calls and their outputs',
    response: {
      input: [
        said('user', 'Look.'),
        { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'I should look.' }] },
        said('assistant', [output('Let me see.')]),
        call('c1'),
        call('c2'),
        { type: 'function_call_output', call_id: 'c1', output: 'A cat.' },
        { type: 'function_call_output', call_id: 'c2', output: [input('A dog.')] },
        said('user', [input('Well?')]),
      ],
      tools: [{ type: 'function', name: 'look', description: 'Looks.', parameters: schema }],
    },
    chat: {
      messages: [
        { role: 'user', content: 'Look.' },
        {
          role: 'assistant',
          reasoning_content: 'I should look.',
          content: 'Let me see.',
          tool_calls: [look('c1'), look('c2')],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'A cat.' },
        { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'A dog.' }] },
        { role: 'user', content: [{ type: 'text', text: 'Well?' }] },
      ],
      tools: [{ type: 'function', function: { name: 'look', description: 'Looks.', parameters: schema } }],
    },
    message: {
      messages: [
        { role: 'user', content: 'Look.' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'I should look.', signature: '' },
            { type: 'text', text: 'Let me see.' },
            use('c1'),
            use('c2'),
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'c1', content: 'A cat.' },
            { type: 'tool_result', tool_use_id: 'c2', content: [{ type: 'text', text: 'A dog.' }] },
            { type: 'text', text: 'Well?' },
          ],
        },
      ],
      tools: [{ name: 'look', description: 'Looks.', input_schema: schema }],
    },
  },
];

describe('one conversation becomes the same request by every door', () => {
  it.each(conversations)('$name', ({ response, chat, message }) => {
    const asked = parseCreateResponse({ model, max_output_tokens: 50, store: false, ...response });
    const ofChat = parseChatRequest({ model, max_tokens: 50, ...chat }).request;
    const ofMessage = parseMessageRequest({ model, max_tokens: 50, ...message }).request;
    expect(ofChat).toEqual(asked);
    expect(ofMessage).toEqual(asked);
  });
});

describe('one conversation is the same in the record and for the model, by whichever door it came', () => {
  const api = oneTestApi();

  /** The input of a response, without ids, once it is over. */
  async function inputOf(path: string, body: object, headers: Record<string, string> = {}) {
    const answer = await api.create({ model, ...body }, { path, headers });
    expect(answer.status).toBe(200);
    const id = answer.headers['x-sluice-response-id'];
    const { data } = (await api.get(`/v1/responses/${id}/input_items?order=asc&limit=100`)).json() as {
      data: Record<string, unknown>[];
    };
    const given = api.worker.runs.at(-1)?.record;
    expect(given?.id).toBe(id);
    return {
      items: data.map(({ id: _, ...item }) => item),
      // Nothing of the request that a model is given depends on the door.
      given: { input: given?.request.input, tools: given?.request.tools },
    };
  }

  it.each(conversations)('$name', async ({ name, response, chat, message }) => {
    const asked = await inputOf('/responses', { ...response, max_output_tokens: 50 });
    const ofChat = await inputOf('/chat/completions', { ...chat, max_tokens: 50, store: true });
    // A message is kept for a caller that can come back.
    const key = { 'idempotency-key': name.replaceAll(/\W+/g, '-') };
    const ofMessage = await inputOf('/messages', { ...message, max_tokens: 50 }, key);
    expect(asked.items).toHaveLength(response.input.length);
    expect(ofChat).toEqual(asked);
    expect(ofMessage).toEqual(asked);
  });
});
