import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai';
import { expect, it } from 'vitest';
import { chunksOf, inputOf } from './input-of.ts';

const assistant: UIMessage = {
  id: 'a',
  role: 'assistant',
  parts: [
    { type: 'step-start' },
    { type: 'reasoning', text: 'Hm', state: 'done' },
    { type: 'text', text: 'Let me see.', state: 'done' },
    { type: 'source-url', sourceId: 's1', url: 'https://example.com/oslo', title: 'Oslo' },
    { type: 'source-document', sourceId: 's2', mediaType: 'application/pdf', title: 'Norway' },
    { type: 'file', mediaType: 'image/png', url: 'https://example.com/map.png' },
    { type: 'data-progress', id: 'p', data: { done: 1 } },
    {
      type: 'tool-weather',
      toolCallId: 'c1',
      state: 'output-available',
      input: { city: 'Oslo' },
      output: { t: 3 },
    },
    { type: 'tool-weather', toolCallId: 'c2', state: 'output-error', input: {}, errorText: 'No such city.' },
    { type: 'dynamic-tool', toolName: 'ask', toolCallId: 'c3', state: 'input-available', input: {} },
  ],
};

it('makes a conversation the input of a request', () => {
  const user: UIMessage = {
    id: 'u',
    role: 'user',
    parts: [
      { type: 'text', text: 'Hi' },
      { type: 'file', mediaType: 'image/png', url: 'https://example.com/a.png' },
      {
        type: 'file',
        mediaType: 'application/pdf',
        url: 'data:application/pdf;base64,AA',
        filename: 'a.pdf',
      },
    ],
  };
  expect(inputOf([user, assistant])).toEqual([
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'Hi' },
        { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA' },
      ],
    },
    { type: 'message', role: 'assistant', content: 'Let me see.' },
    { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' },
    { type: 'function_call_output', call_id: 'c1', output: '{"t":3}' },
    { type: 'function_call', call_id: 'c2', name: 'weather', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c2', output: 'No such city.' },
  ]);
});

it('makes the parts of a message chunks that make the same message', async () => {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      controller.enqueue({ type: 'start', messageId: 'a' });
      for (const chunk of chunksOf(assistant)) controller.enqueue(chunk);
      controller.close();
    },
  });
  let message: UIMessage | undefined;
  for await (const state of readUIMessageStream({ stream })) message = state;
  expect(message).toMatchObject(assistant);
  // A chat runs the tool of each such chunk, and the others have been answered.
  const run = chunksOf(assistant).flatMap((chunk) =>
    chunk.type === 'tool-input-available' ? chunk.toolCallId : [],
  );
  expect(run).toEqual(['c3']);
});
