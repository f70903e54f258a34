import { describe, expect, it } from 'vitest';
import { startableTestApi } from './kept-api.ts';
import { model } from './test-api.ts';

const api = startableTestApi();

const chat = (more = '') => ({ provider: `type: openai-chat, baseUrl: 'http://127.0.0.1:9'${more}` });
const responses = { provider: "type: openai-responses, baseUrl: 'http://127.0.0.1:9'" };

const image = 'https://pictures.example.org/a.png';
const file = 'https://papers.example.org/a.pdf';
const text = { type: 'input_text', text: 'Look' };
const inputOf = (part: object) => ({ input: [{ role: 'user', content: [text, part] }] });
const create = { path: '/responses', body: (part: object) => ({ model, ...inputOf(part) }) };
const inputImage = { type: 'input_image', image_url: image };
const inputFile = { type: 'input_file', file_url: file };
const output = [
  { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
  { type: 'function_call_output', call_id: 'c', output: [text, { type: 'input_video', video_url: image }] },
];
const messagesOf = (...blocks: object[]) => [
  { role: 'user', content: [{ type: 'text', text: 'Look' }, ...blocks] },
];
const ofChat = { model, messages: messagesOf({ type: 'image_url', image_url: { url: image } }) };
const messageOf = (...blocks: object[]) => ({ model, max_tokens: 9, messages: messagesOf(...blocks) });
const block = (type: string, url: string) => ({ type, source: { type: 'url', url } });
const result = { type: 'tool_result', tool_use_id: 'c', content: [block('image', image)] };
const call = { type: 'tool_use', id: 'c', name: 'f', input: {} };

describe('a URL that no upstream of the model may fetch', () => {
  it.each([
    ['/responses', create.body(inputImage), 'input[0].content[1].image_url'],
    ['/responses', create.body(inputFile), 'input[0].content[1].file_url'],
    ['/responses', { model, input: output }, 'input[1].output[1].video_url'],
    ['/responses', { ...create.body(inputImage), background: true }, 'input[0].content[1].image_url'],
    ['/chat/completions', ofChat, 'messages[0].content[1].image_url.url'],
    ['/messages', messageOf(block('image', image)), 'messages[0].content[1].source'],
    ['/messages', messageOf(block('document', file)), 'messages[0].content[1].source'],
    [
      '/messages',
      {
        model,
        max_tokens: 9,
        messages: [
          { role: 'assistant', content: [call] },
          { role: 'user', content: [result] },
        ],
      },
      'messages[1].content[0].content[0].source',
    ],
  ])('is refused at %s by the name of its part, before anything runs', async (path, body, param) => {
    await api.start(responses);
    const { status, json } = await api.create(body, { path });
    expect(status).toBe(400);
    const { error } = json() as { error: { details?: object } };
    expect(error).toMatchObject(
      error.details
        ? { details: { error_code: 'invalid_prompt', param } }
        : { code: 'invalid_prompt', param },
    );
    expect(api.worker.runs).toEqual([]);
  });

  it('has its name in a large body, too', async () => {
    await api.start(responses);
    const { messages } = ofChat;
    const large = { ...ofChat, messages: [{ role: 'user', content: 'x'.repeat(400_000) }, ...messages] };
    const { json } = await api.create(large, { path: '/chat/completions' });
    expect(json()).toMatchObject({ error: { param: 'messages[1].content[1].image_url.url' } });
  });

  it('is that of a file for any upstream of chat completions', async () => {
    await api.start(chat(', fetchesUrls: true'));
    const { status, json } = await api.create(create.body(inputFile));
    expect(status).toBe(400);
    expect(json()).toMatchObject({ error: { param: 'input[0].content[1].file_url' } });
  });
});

it.each([
  ['where its upstream may fetch it', chat(', fetchesUrls: true'), create.body(inputImage)],
  [
    'where it is a data URL',
    chat(),
    create.body({ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }),
  ],
  ['where the file has its data besides', chat(), create.body({ ...inputFile, file_data: 'AAAA' })],
  ['for the simulator', {}, create.body(inputImage)],
])('a URL is taken %s', async (_where, options, body) => {
  await api.start(options);
  expect((await api.create(body)).status).toBe(200);
});

it('a file that is not there is named as the caller has written it', async () => {
  await api.start();
  const part = { type: 'file', file: { file_id: 'file-none' } };
  const { json } = await api.create({ model, messages: messagesOf(part) }, { path: '/chat/completions' });
  expect(json()).toMatchObject({ error: { param: 'messages[0].content[1].file.file_id' } });
});
