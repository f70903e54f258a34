import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { eventually } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { clientSite, mounts, oneRequestKeys, onlyPrompt } from '../src/client-site.ts';
import { type Asked, readStream, testBrokenConnections } from './broken-connections.ts';

const site = clientSite();

const user = (content: string): Anthropic.MessageParam[] => [{ role: 'user', content }];
const asked = { model: 'scripted', max_tokens: 1024 };
const weather: Anthropic.Tool = {
  name: 'get_weather',
  input_schema: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
};
const person = z.object({ name: z.string(), age: z.number() });
const textOf = ({ content }: Pick<Anthropic.Message, 'content'>) =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');

describe.each(mounts)('@anthropic-ai/sdk at $mount', ({ mount }) => {
  // It adds `/v1` to its address itself.
  const clientWith = (apiKey: string, maxRetries = 0) =>
    new Anthropic({
      baseURL: site.baseUrl(mount).replace(/\/v1$/, ''),
      apiKey,
      authToken: null,
      maxRetries,
    });
  const client = () => clientWith(site.key);

  it('`create`', async () => {
    const message = await client().messages.create({ ...asked, messages: user('Tell me of Bergen.') });
    expect(textOf(message)).toBe('Bergen lies between seven mountains.');
    expect(message).toMatchObject({
      type: 'message',
      role: 'assistant',
      stop_reason: 'end_turn',
      usage: { input_tokens: 11, output_tokens: 7 },
    });
    expect(message._request_id).toMatch(/^req_/);
  });

  it('`create` with `stream: true`', async () => {
    const stream = await client().messages.create({
      ...asked,
      messages: user('Tell me of Bergen.'),
      stream: true,
    });
    const events = await Array.fromAsync(stream);
    const text = events
      .map((event) =>
        event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : '',
      )
      .join('');
    expect(text).toBe('Bergen lies between seven mountains.');
    expect(events.at(0)?.type).toBe('message_start');
    expect(events.at(-1)?.type).toBe('message_stop');
  });

  it('`stream` with `finalMessage`', async () => {
    const stream = client().messages.stream({ ...asked, messages: user('Tell me of Bergen.') });
    const pieces: string[] = [];
    stream.on('text', (piece) => pieces.push(piece));
    const message = await stream.finalMessage();
    expect(pieces.join('')).toBe('Bergen lies between seven mountains.');
    expect(textOf(message)).toBe(pieces.join(''));
    expect(message.usage).toMatchObject({ input_tokens: 11, output_tokens: 7 });
  });

  it('`messages.batches`', async () => {
    const { batches } = client().messages;
    const params = { ...asked, messages: user('Tell me of Bergen.') };
    const made = await batches.create({
      requests: [
        { custom_id: 'right', params },
        { custom_id: 'wrong', params: { ...params, model: 'unknown' } },
      ],
    });
    const batch = await eventually(async () => {
      const now = await batches.retrieve(made.id);
      return now.processing_status === 'ended' && now;
    });
    expect(batch.request_counts).toMatchObject({ succeeded: 1, errored: 1 });
    const results = await Array.fromAsync(await batches.results(made.id));
    const [right, wrong] = results.toSorted((one, other) => one.custom_id.localeCompare(other.custom_id));
    expect(right?.result.type === 'succeeded' && textOf(right.result.message)).toBe(
      'Bergen lies between seven mountains.',
    );
    expect(wrong?.result).toMatchObject({
      type: 'errored',
      error: { error: { type: 'invalid_request_error' } },
    });
    const listed = await Array.fromAsync(batches.list({ limit: 1 }));
    expect(listed.map(({ id }) => id)).toContain(made.id);
    expect(await batches.delete(made.id)).toMatchObject({ id: made.id, type: 'message_batch_deleted' });
  });

  it('`parse` with a zod schema', async () => {
    const { parsed_output: parsed } = await client().messages.parse({
      ...asked,
      messages: user('Describe a person.'),
      output_config: { format: zodOutputFormat(person) },
    });
    expect(parsed).toEqual({ name: 'Ada', age: 36 });
  });

  it.each(['scripted', 'scripted-chat'])('`toolRunner`, with %s', async (model) => {
    const message = await client().beta.messages.toolRunner({
      ...asked,
      model,
      messages: [{ role: 'user', content: 'Compare the weather in two places.' }],
      tools: [
        betaZodTool({
          name: 'get_weather',
          description: 'Tells the weather of a place.',
          inputSchema: z.object({ place: z.string() }),
          run: ({ place }) => `rain in ${place}`,
        }),
      ],
    });
    expect(message.content).toMatchObject([
      { type: 'text', text: 'The tools say: rain in Bergen and rain in Oslo.' },
    ]);
  });

  it.each(['scripted', 'scripted-chat'])('parallel tool calls in a stream, with %s', async (model) => {
    const stream = client().messages.stream({
      ...asked,
      model,
      messages: user('Ask for the weather in both.'),
      tools: [weather],
    });
    const told: Anthropic.ContentBlock[] = [];
    stream.on('contentBlock', (block) => told.push(block));
    const { content, stop_reason: reason } = await stream.finalMessage();
    expect(reason).toBe('tool_use');
    expect(content).toMatchObject([
      { type: 'tool_use', name: 'get_weather', input: { place: 'Bergen' } },
      { type: 'tool_use', name: 'get_weather', input: { place: 'Oslo' } },
    ]);
    expect(told).toEqual(content);
  });

  it('an image and a document in base64', async () => {
    const prompt = onlyPrompt('Repeat what was said');
    const message = await client().messages.create({
      ...asked,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: prompt },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
            {
              type: 'document',
              source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
              cache_control: { type: 'ephemeral' },
            },
          ],
        },
      ],
    });
    expect(textOf(message)).toBe(`user: ${prompt}`);
    const [request] = site.model.requestsFor(prompt);
    expect(JSON.stringify(request?.body)).toMatch(/iVBORw0KGgo=.*JVBERi0=/);
  });

  it('several turns', async () => {
    const messages = user('My name is Ada.');
    const { role, content } = await client().messages.create({ ...asked, messages });
    messages.push({ role, content }, ...user('Repeat what was said.'));
    expect(textOf(await client().messages.create({ ...asked, messages }))).toBe(
      'user: My name is Ada. | assistant: Bergen lies between seven mountains. | user: Repeat what was said.',
    );
  });

  it.each(['scripted', 'scripted-chat'])('thinking, and back, with %s', async (model) => {
    const messages = user('Think of the answer.');
    const thinking = { type: 'adaptive' } as const;
    const stream = client().messages.stream({ ...asked, model, messages, thinking });
    let thought = '';
    stream.on('thinking', (delta) => {
      thought += delta;
    });
    const { role, content } = await stream.finalMessage();
    expect(thought).toBe('The question is known.');
    expect(content).toMatchObject([
      { type: 'thinking', thinking: thought, signature: expect.stringMatching(/./) },
      { type: 'text', text: 'Forty-two.' },
    ]);
    messages.push({ role, content }, ...user('Repeat what was said.'));
    const next = await client().messages.create({ ...asked, model, messages, thinking });
    expect(textOf(next)).toBe(
      'user: Think of the answer. | assistant: Forty-two. | user: Repeat what was said.',
    );
  });

  it('`countTokens`', async () => {
    const counted = await client().messages.countTokens({ model: 'scripted', messages: user('Hello.') });
    expect(counted.input_tokens).toBeGreaterThan(0);
  });

  it('`models.list` and `models.retrieve`', async () => {
    const models = await Array.fromAsync(client().models.list());
    expect(models.map(({ id }) => id)).toContain('scripted');
    expect(await client().models.retrieve('scripted')).toMatchObject({ type: 'model', id: 'scripted' });
  });

  it('an answer that was cut short', async () => {
    const { stop_reason: reason } = await client().messages.create({
      model: 'simulator',
      messages: user('Go on. [[sluice: tokens=100]]'),
      max_tokens: 5,
    });
    expect(reason).toBe('max_tokens');
  });

  it('400 with its code and member', async () => {
    const call = client().messages.create({ ...asked, model: 'nobody', messages: user('Hello.') });
    await expect(call).rejects.toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      errorCode: 'model_not_found',
      error: { error: { details: { param: 'model' } } },
      requestID: expect.stringMatching(/^req_/),
    });
  });

  it('401', async () => {
    const call = clientWith('sk-nobody').messages.create({ ...asked, messages: user('Hello.') });
    await expect(call).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
  });

  it('429', async () => {
    const slow = clientWith(oneRequestKeys[mount]).messages;
    await slow.create({ ...asked, model: 'simulator', messages: user('The only one.') });
    const call = slow.create({ ...asked, model: 'simulator', messages: user('One too many.') });
    await expect(call).rejects.toBeInstanceOf(Anthropic.RateLimitError);
  });

  it('a stream that fails on the way', async () => {
    const stream = client().messages.stream({ ...asked, messages: user('Break.') });
    let text = '';
    stream.on('text', (piece) => {
      text += piece;
    });
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIError);
    expect(text).toBe('It was a dark ');
  });

  it('`abort` in mid-stream cancels the response', async () => {
    const prompt = onlyPrompt('Stall');
    const stream = await client().messages.create({ ...asked, messages: user(prompt), stream: true });
    for await (const { type } of stream) if (type === 'content_block_delta') stream.controller.abort();
    expect(await site.model.requestsFor(prompt)[0]?.ended).toBe('aborted');
  });

  const asking = ({ baseUrl, apiKey, prompt, once, maxRetries }: Asked) => ({
    messages: new Anthropic({ baseURL: baseUrl.replace(/\/v1$/, ''), apiKey, maxRetries }).messages,
    body: { ...asked, messages: user(prompt) },
    options: { headers: { 'Idempotency-Key': once } },
  });
  testBrokenConnections({
    site,
    mount,
    cutError: 'TypeError',
    cutRemark: 'It throws the `TypeError` of `fetch`, which is no `APIError`.',
    async whole(call) {
      const { messages, body, options } = asking(call);
      return textOf(await messages.create(body, options));
    },
    stream: (call) =>
      readStream(async function* pieces() {
        const { messages, body, options } = asking(call);
        for await (const event of await messages.create({ ...body, stream: true }, options))
          if (event.type === 'content_block_delta' && event.delta.type === 'text_delta')
            yield event.delta.text;
      }),
  });
});
