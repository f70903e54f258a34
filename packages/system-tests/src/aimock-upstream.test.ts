import { LLMock } from '@copilotkit/aimock';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testService } from './service.ts';

// This upstream is a third party's, so what it sends and counts is an independent reading of the two interfaces.
const mock = new LLMock({ port: 0, host: '127.0.0.1', chunkSize: 5, strict: true });
const answer = 'Bergen lies between seven mountains.';

beforeAll(async () => {
  mock.onToolResult('call_from_mock', { content: 'It rains there.' });
  // The two interfaces have different names for the counts.
  const usage = { prompt_tokens: 11, completion_tokens: 7, input_tokens: 11, output_tokens: 7 };
  mock.onMessage('mountains', { content: answer, usage });
  mock.onMessage('weather', {
    toolCalls: [{ id: 'call_from_mock', name: 'get_weather', arguments: '{"place":"Bergen"}' }],
  });
  await mock.start();
});
afterAll(() => mock.stop());
const service = testService(() => ({
  settings: {
    providers: ['chat', 'responses'].map((id) => ({
      ...{ id, type: `openai-${id}`, baseUrl: `${mock.url}/v1`, apiKey: 'sk-upstream' },
    })),
    models: [
      { id: 'by-chat', routes: [{ provider: 'chat', model: 'mock-model' }] },
      { id: 'by-responses', routes: [{ provider: 'responses', model: 'mock-model' }] },
    ],
  },
}));

const tools: OpenAI.Responses.Tool[] = [
  {
    type: 'function',
    name: 'get_weather',
    strict: false,
    parameters: { type: 'object', properties: { place: { type: 'string' } } },
  },
];

describe.each([
  { model: 'by-chat', path: '/v1/chat/completions' },
  { model: 'by-responses', path: '/v1/responses' },
])('aimock as the upstream of $model', ({ model, path }) => {
  const client = () =>
    new OpenAI({ baseURL: `${service.apiUrls[0]}/v1`, apiKey: service.key, maxRetries: 0 });

  it('gives its text, whole', async () => {
    mock.clearRequests();
    const response = await client().responses.create({ model, input: 'Tell me of the mountains.' });
    expect(response).toMatchObject({ status: 'completed', model, output_text: answer });
    expect(mock.getRequests()).toMatchObject([{ path, body: { model: 'mock-model' } }]);
  });

  it('gives its text, streamed', async () => {
    const stream = client().responses.stream({ model, input: 'Tell me of the mountains.' });
    const deltas: string[] = [];
    stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta));
    const final = await stream.finalResponse();
    expect(final.output_text).toBe(answer);
    expect(deltas.join('')).toBe(answer);
    expect(deltas.length).toBeGreaterThan(1);
  });

  it('gives its usage', async () => {
    const { usage } = await client().responses.create({ model, input: 'Tell me of the mountains.' });
    expect(usage).toMatchObject({ input_tokens: 11, output_tokens: 7, total_tokens: 18 });
  });

  it('gives a tool call and takes its output', async () => {
    const input: OpenAI.Responses.ResponseInput = [
      { role: 'user', content: 'What is the weather in Bergen?' },
    ];
    const first = await client().responses.stream({ model, input, tools }).finalResponse();
    const call = first.output[0];
    expect(call).toMatchObject({
      type: 'function_call',
      status: 'completed',
      call_id: 'call_from_mock',
      name: 'get_weather',
      arguments: '{"place":"Bergen"}',
    });
    if (call?.type !== 'function_call') return;
    const output = { type: 'function_call_output', call_id: call.call_id, output: 'rain' } as const;
    const second = await client().responses.create({ model, input: [...input, call, output], tools });
    expect(second.output_text).toBe('It rains there.');
  });

  it('gives an honest error when it fails', async () => {
    const error: unknown = await client()
      .responses.create({ model, input: 'Nothing matches this.' })
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(OpenAI.APIError);
    expect((error as InstanceType<typeof OpenAI.APIError>).status).toBeGreaterThanOrEqual(500);
    expect(String(error)).not.toContain('sk-upstream');
  });
});
