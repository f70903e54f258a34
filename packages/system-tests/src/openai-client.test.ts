import OpenAI from 'openai';
import type { ResponseInputItem, Tool } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Service, startService } from './service.ts';

let service: Service;

beforeAll(async () => {
  service = await startService({
    settings: {
      keys: [
        { name: 'tester', key: 'sk-test-0123456789abcdef' },
        { name: 'slow', key: 'sk-slow-0123456789abcdef', limits: { requestsPerMinute: 1 } },
      ],
    },
  });
});
afterAll(() => service?.stop());

function clientAt(mount: '/v1' | '/api/v1', apiKey = 'sk-test-0123456789abcdef'): OpenAI {
  return new OpenAI({ baseURL: `${service.apiUrls[0]}${mount}`, apiKey, maxRetries: 0 });
}

const weather: Tool = {
  type: 'function',
  name: 'get_weather',
  description: 'Tells the weather of a place.',
  strict: true,
  parameters: {
    type: 'object',
    properties: { place: { type: 'string' } },
    required: ['place'],
    additionalProperties: false,
  },
};

const user = (content: string): ResponseInputItem => ({ role: 'user', content });

/** One red pixel. */
const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

describe.each([
  { mount: '/v1', object: 'response' },
  { mount: '/api/v1', object: 'create_response' },
] as const)('the openai package at $mount', ({ mount, object }) => {
  it('creates a response and reads its text', async () => {
    const response = await clientAt(mount).responses.create({ model: 'simulator', input: 'Say hello.' });
    expect(response).toMatchObject({ object, status: 'completed', error: null });
    expect(response.id).toMatch(/^create-response_[A-Za-z0-9]{24,}$/);
    expect(response.output_text).not.toBe('');
    expect(response.usage?.total_tokens).toBeGreaterThan(0);
    expect(response._request_id).toMatch(/^req_/);
  });

  it('retrieves what it created', async () => {
    const client = clientAt(mount);
    const created = await client.responses.create({ model: 'simulator', input: 'Keep this.' });
    const retrieved = await client.responses.retrieve(created.id);
    expect(retrieved).toMatchObject({ id: created.id, object, output_text: created.output_text });
  });

  it('streams events whose deltas are the text', async () => {
    const stream = await clientAt(mount).responses.create({
      model: 'simulator',
      input: 'Count to ten.',
      stream: true,
    });
    let text = '';
    let last: string | undefined;
    for await (const event of stream) {
      last = event.type;
      if (event.type === 'response.output_text.delta') text += event.delta;
      if (event.type === 'response.completed') expect(event.response.object).toBe(object);
    }
    expect(last).toBe('response.completed');
    expect(text).not.toBe('');
  });

  it('follows a stream with its helper to the final response', async () => {
    const stream = clientAt(mount).responses.stream({ model: 'simulator', input: 'Tell a story.' });
    let text = '';
    stream.on('response.output_text.delta', ({ delta }) => {
      text += delta;
    });
    const final = await stream.finalResponse();
    expect(final).toMatchObject({ status: 'completed', output_text: text });
  });

  it('calls a tool and answers with its output', async () => {
    const client = clientAt(mount);
    const input: ResponseInputItem[] = [{ role: 'user', content: 'What is the weather in Bergen?' }];
    const first = await client.responses.create({ model: 'simulator', input, tools: [weather] });
    const call = first.output.find((item) => item.type === 'function_call');
    expect(call).toMatchObject({ name: 'get_weather', status: 'completed' });
    if (call === undefined) return;
    expect(JSON.parse(call.arguments)).toHaveProperty('place');
    const second = await client.responses.create({
      model: 'simulator',
      input: [
        ...input,
        call,
        { type: 'function_call_output', call_id: call.call_id, output: 'rain, 8 degrees' },
      ],
      tools: [weather],
    });
    expect(second.output_text).toContain('rain, 8 degrees');
  });

  it('streams the arguments of a tool call', async () => {
    const stream = clientAt(mount).responses.stream({
      model: 'simulator',
      input: 'What is the weather in Bergen?',
      tools: [weather],
    });
    let args = '';
    stream.on('response.function_call_arguments.delta', ({ delta }) => {
      args += delta;
    });
    const final = await stream.finalResponse();
    expect(final.output).toMatchObject([{ type: 'function_call', name: 'get_weather', arguments: args }]);
  });

  it('calls a custom tool, whole and streamed, and takes its output back', async () => {
    const client = clientAt(mount);
    const tools = [{ type: 'custom' as const, name: 'shell', description: 'Runs a command.' }];
    const tool_choice = { type: 'custom' as const, name: 'shell' };
    const request = { model: 'simulator', input: 'ls -l', tools, tool_choice };
    const { id, output } = await client.responses.create(request);
    const [call] = output;
    if (call?.type !== 'custom_tool_call') throw new Error('the custom tool was not called');
    expect(call).toMatchObject({ id: expect.stringMatching(/^ctc_/), name: 'shell', input: 'ls -l' });
    const answer = { type: 'custom_tool_call_output', call_id: call.call_id, output: 'total 0' } as const;
    const next = await client.responses.create({
      model: 'simulator',
      previous_response_id: id,
      input: [answer],
      tools,
    });
    expect(next.output_text).toContain('total 0');
    let streamed = '';
    const stream = await client.responses.create({ ...request, stream: true });
    for await (const event of stream) {
      if (event.type === 'response.custom_tool_call_input.delta') streamed += event.delta;
    }
    expect(streamed).toBe('ls -l');
    const final = await client.responses.stream(request).finalResponse();
    expect(final.output).toMatchObject([{ type: 'custom_tool_call', input: 'ls -l' }]);
  });

  it('parses an answer that was asked for as JSON', async () => {
    const response = await clientAt(mount).responses.parse({
      model: 'simulator',
      input: 'Describe a person.',
      text: {
        format: {
          type: 'json_schema',
          name: 'person',
          strict: true,
          schema: {
            type: 'object',
            properties: { name: { type: 'string' }, age: { type: 'integer' } },
            required: ['name', 'age'],
            additionalProperties: false,
          },
        },
      },
    });
    expect(response.output_parsed).toEqual({ name: expect.any(String), age: expect.any(Number) });
  });

  it('sends an image and a file as data URLs', async () => {
    const response = await clientAt(mount).responses.create({
      model: 'simulator',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is in these?' },
            { type: 'input_image', image_url: pixel, detail: 'auto' },
            {
              type: 'input_file',
              filename: 'note.txt',
              file_data: `data:text/plain;base64,${Buffer.from('a note').toString('base64')}`,
            },
          ],
        },
      ],
    });
    expect(response.status).toBe('completed');
    expect(response.output_text).not.toBe('');
  });

  it('reads a refusal', async () => {
    const { output } = await clientAt(mount).responses.create({
      model: 'simulator',
      input: 'Do it. [[sluice: refuse]]',
    });
    expect(output).toMatchObject([{ type: 'message', content: [{ type: 'refusal' }] }]);
  });

  it('gets an AuthenticationError for a key that nobody gave it', async () => {
    const error: unknown = await clientAt(mount, 'sk-unknown')
      .responses.create({ model: 'simulator', input: 'Hello.' })
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(OpenAI.AuthenticationError);
    expect(error).toMatchObject({ status: 401, code: 'invalid_api_key' });
    expect((error as InstanceType<typeof OpenAI.AuthenticationError>).requestID).toMatch(/^req_/);
  });

  it('gets a BadRequestError that names the field', async () => {
    const error: unknown = await clientAt(mount)
      .responses.create({ model: 'simulator', input: 'Hello.', temperature: 3 })
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ status: 400, param: 'temperature', code: 'decimal_above_max_value' });
  });

  it('gets a plain error before a stream begins', async () => {
    const error: unknown = await clientAt(mount)
      .responses.create({ model: 'nobody', input: 'Hello.', stream: true })
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ status: 400, param: 'model', code: 'model_not_found' });
  });

  it('counts input tokens', async () => {
    const counted = await clientAt(mount).responses.inputTokens.count({
      model: 'simulator',
      input: 'How many are these?',
    });
    expect(counted).toMatchObject({ object: 'response.input_tokens', input_tokens: 9 });
  });

  it('gives reasoning and a compacted conversation back that it alone has kept', async () => {
    const client = clientAt(mount);
    const model = 'simulator-reasoning';
    const first = await client.responses.create({
      model,
      input: 'Think.',
      store: false,
      include: ['reasoning.encrypted_content'],
    });
    const [reasoning] = first.output;
    expect(reasoning).toMatchObject({ type: 'reasoning', encrypted_content: expect.any(String) });
    const input = [user('Think.'), ...(first.output as ResponseInputItem[]), user('Go on.')];
    const next = await client.responses.create({ model, store: false, input });
    expect(next.status).toBe('completed');
    const compacted = await client.responses.compact({ model, input });
    expect(compacted).toMatchObject({
      object: 'response.compaction',
      output: [{ role: 'user' }, { role: 'user' }, { type: 'compaction' }],
    });
    const window = compacted.output as ResponseInputItem[];
    const last = await client.responses.create({ model, store: false, input: [...window, user('And now?')] });
    expect(last.status).toBe('completed');
  });

  it('throws the error of a stream that fails on the way', async () => {
    const reading = async () => {
      const stream = await clientAt(mount).responses.create({
        model: 'simulator',
        input: 'Break. [[sluice: fail=model_error after=3]]',
        stream: true,
      });
      for await (const event of stream) expect(event.type).not.toBe('response.completed');
    };
    await expect(reading()).rejects.toMatchObject({ code: 'model_error' });
  });
});

it('lists the models and retrieves one', async () => {
  const client = clientAt('/v1');
  const ids = [];
  for await (const { id } of client.models.list()) ids.push(id);
  expect(ids).toEqual(['simulator', 'simulator-reasoning']);
  await expect(client.models.retrieve('simulator')).resolves.toMatchObject({
    id: 'simulator',
    object: 'model',
  });
});

it('gets a RateLimitError that says when to come back', async () => {
  const client = clientAt('/v1', 'sk-slow-0123456789abcdef');
  await client.responses.create({ model: 'simulator', input: 'The only one.' });
  const error: unknown = await client.responses
    .create({ model: 'simulator', input: 'One too many.' })
    .catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(OpenAI.RateLimitError);
  const { status, code, headers } = error as InstanceType<typeof OpenAI.RateLimitError>;
  expect({ status, code }).toEqual({ status: 429, code: 'rate_limit_exceeded' });
  expect(headers.get('x-ratelimit-limit-requests')).toBe('1');
  expect(headers.get('x-ratelimit-remaining-requests')).toBe('0');
  expect(headers.get('x-ratelimit-reset-requests')).toMatch(/^(\d+h)?(\d+m)?([\d.]+m?s)?$/);
  expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(Number(headers.get('retry-after-ms'))).toBeGreaterThan(0);
});
