import OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { clientSite, mounts, oneRequestKeys, onlyPrompt } from '../src/client-site.ts';
import { type Asked, readStream, testBrokenConnections } from './broken-connections.ts';

const site = clientSite();

const user = (content: string): ChatCompletionMessageParam[] => [{ role: 'user', content }];
const weather: ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    strict: true,
    parameters: {
      type: 'object',
      properties: { place: { type: 'string' } },
      required: ['place'],
      additionalProperties: false,
    },
  },
};
const person = z.object({ name: z.string(), age: z.number() });

describe.each(mounts)('openai with chat completions at $mount', ({ mount }) => {
  const clientWith = (apiKey: string) =>
    new OpenAI({ baseURL: site.baseUrl(mount), apiKey, maxRetries: 0 }).chat.completions;
  const chat = () => clientWith(site.key);

  it('`create`', async () => {
    const {
      choices,
      usage,
      object,
      _request_id: requestId,
    } = await chat().create({
      model: 'scripted',
      messages: user('Tell me of Bergen.'),
    });
    expect(object).toBe('chat.completion');
    expect(choices[0]?.message.content).toBe('Bergen lies between seven mountains.');
    expect(choices[0]?.finish_reason).toBe('stop');
    expect(usage).toMatchObject({ prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 });
    expect(requestId).toMatch(/^req_/);
  });

  it('`create` with `stream: true` and its usage', async () => {
    const chunks = await Array.fromAsync(
      await chat().create({
        model: 'scripted',
        messages: user('Tell me of Bergen.'),
        stream: true,
        stream_options: { include_usage: true },
      }),
    );
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    expect(text).toBe('Bergen lies between seven mountains.');
    expect(chunks.at(-1)?.usage).toMatchObject({ total_tokens: 18 });
  });

  it('`stream` with `finalChatCompletion`', async () => {
    const stream = chat().stream({ model: 'scripted', messages: user('Tell me of Bergen.') });
    const pieces: string[] = [];
    stream.on('content', (piece) => pieces.push(piece));
    const completion = await stream.finalChatCompletion();
    expect(pieces.join('')).toBe('Bergen lies between seven mountains.');
    expect(completion.choices[0]?.message.content).toBe(pieces.join(''));
  });

  it('`parse` with a zod schema', async () => {
    const { choices } = await chat().parse({
      model: 'scripted',
      messages: user('Describe a person.'),
      response_format: zodResponseFormat(person, 'person'),
    });
    expect(choices[0]?.message.parsed).toEqual({ name: 'Ada', age: 36 });
  });

  it.each(['scripted', 'scripted-chat'])('`runTools`, with %s', async (model) => {
    const runner = chat().runTools({
      model,
      messages: user('Compare the weather in two places.'),
      tools: [
        zodFunction({
          name: 'get_weather',
          parameters: z.object({ place: z.string() }),
          function: ({ place }) => `rain in ${place}`,
        }),
      ],
    });
    expect(await runner.finalContent()).toBe('The tools say: rain in Bergen and rain in Oslo.');
  });

  it('parallel tool calls in a stream', async () => {
    const stream = chat().stream({
      model: 'scripted',
      messages: user('Ask for the weather in both.'),
      tools: [weather],
    });
    const { choices } = await stream.finalChatCompletion();
    const calls = choices[0]?.message.tool_calls ?? [];
    expect(choices[0]?.finish_reason).toBe('tool_calls');
    expect(calls.map((call) => call.type === 'function' && call.function.arguments)).toEqual([
      '{"place":"Bergen"}',
      '{"place":"Oslo"}',
    ]);
  });

  it('an image and a file as data URLs', async () => {
    const prompt = onlyPrompt('Repeat what was said');
    const { choices } = await chat().create({
      model: 'scripted',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: prompt },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
          ],
        },
      ],
    });
    expect(choices[0]?.message.content).toBe(`user: ${prompt}`);
    const [request] = site.model.requestsFor(prompt);
    expect(JSON.stringify(request?.body)).toMatch(/iVBORw0KGgo=.*JVBERi0=/);
  });

  it('several turns', async () => {
    const messages = user('My name is Ada.');
    const first = await chat().create({ model: 'scripted', messages });
    const [choice] = first.choices;
    if (!choice) return expect.unreachable();
    messages.push(choice.message, ...user('Repeat what was said.'));
    const second = await chat().create({ model: 'scripted', messages });
    expect(second.choices[0]?.message.content).toBe(
      'user: My name is Ada. | assistant: Bergen lies between seven mountains. | user: Repeat what was said.',
    );
  });

  it('an answer that was cut short', async () => {
    const { choices } = await chat().create({
      model: 'simulator',
      messages: user('Go on. [[sluice: tokens=100]]'),
      max_tokens: 5,
    });
    expect(choices[0]?.finish_reason).toBe('length');
  });

  it('400 with its code and member', async () => {
    const call = chat().create({ model: 'nobody', messages: user('Hello.') });
    await expect(call).rejects.toMatchObject({ status: 400, code: 'model_not_found', param: 'model' });
  });

  it('401', async () => {
    const call = clientWith('sk-nobody').create({ model: 'simulator', messages: user('Hello.') });
    await expect(call).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  });

  it('429', async () => {
    const slow = clientWith(oneRequestKeys[mount]);
    await slow.create({ model: 'simulator', messages: user('The only one.') });
    const call = slow.create({ model: 'simulator', messages: user('One too many.') });
    await expect(call).rejects.toBeInstanceOf(OpenAI.RateLimitError);
  });

  it('a stream that fails on the way', async () => {
    const stream = await chat().create({ model: 'scripted', messages: user('Break.'), stream: true });
    let text = '';
    const reading = async () => {
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    };
    await expect(reading()).rejects.toBeInstanceOf(OpenAI.APIError);
    expect(text).toBe('It was a dark ');
  });

  it('`abort` in mid-stream cancels the response', async () => {
    const prompt = onlyPrompt('Stall');
    const stream = await chat().create({ model: 'scripted', messages: user(prompt), stream: true });
    for await (const { choices } of stream) if (choices[0]?.delta.content) stream.controller.abort();
    expect(await site.model.requestsFor(prompt)[0]?.ended).toBe('aborted');
  });

  const asking = ({ baseUrl, apiKey, prompt, once, maxRetries }: Asked) => ({
    completions: new OpenAI({ baseURL: baseUrl, apiKey, maxRetries }).chat.completions,
    body: { model: 'scripted', messages: user(prompt) },
    options: { headers: { 'Idempotency-Key': once } },
  });
  testBrokenConnections({
    site,
    mount,
    cutError: 'TypeError',
    cutRemark: 'It throws the `TypeError` of `fetch`, which is no `APIError`.',
    async whole(asked) {
      const { completions, body, options } = asking(asked);
      return (await completions.create(body, options)).choices[0]?.message.content ?? '';
    },
    stream: (asked) =>
      readStream(async function* pieces() {
        const { completions, body, options } = asking(asked);
        for await (const { choices } of await completions.create({ ...body, stream: true }, options))
          yield choices[0]?.delta.content ?? '';
      }),
  });
});
