import { describe, expect, it } from 'vitest';
import { parseChatRequest } from './chat/chat-request.ts';
import { parseMessageRequest } from './messages/message-request.ts';

interface Conversation {
  name: string;
  chat: { messages: object[]; tools?: object[] };
  message: { system?: unknown; messages: object[]; tools?: object[] };
}

const schema = { type: 'object', properties: { at: { type: 'integer' } } };
const png = { media_type: 'image/png', data: 'iVBORw0KGgo=' };
const dataUrl = 'data:image/png;base64,iVBORw0KGgo=';
const pdf = { media_type: 'application/pdf', data: 'JVBERi0=' };
const look = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{"at":1}' } });
const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: { at: 1 } });

/** The same conversations as the clients of each protocol write them. */
const conversations: Conversation[] = [
  {
    name: 'a question',
    chat: { messages: [{ role: 'user', content: 'Hello' }] },
    message: { messages: [{ role: 'user', content: 'Hello' }] },
  },
  {
    name: 'a conversation with a system',
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
  it.each(conversations)('$name', ({ chat, message }) => {
    const ofChat = parseChatRequest({ model: 'm', max_tokens: 50, ...chat }).request;
    const ofMessage = parseMessageRequest({ model: 'm', max_tokens: 50, ...message }).request;
    expect(ofMessage).toEqual(ofChat);
  });
});
