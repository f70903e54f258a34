import { eventually } from '@sluice/testing';
import {
  APICallError,
  generateText,
  type LanguageModel,
  type ModelMessage,
  Output,
  RetryError,
  stepCountIs,
  streamText,
  tool,
} from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { clientSite, type Mount, mounts, oneRequestKeys, onlyPrompt } from '../src/client-site.ts';
import { type Asked, readStream, testBrokenConnections } from './broken-connections.ts';
import { fetchOnce } from './fetch-once.ts';
import { remark } from './remark.ts';

/** One provider package of the AI SDK. */
export interface AiSdkProvider {
  /** As docs/tested-clients.md calls it. */
  name: string;
  /** The model of a name at an address: the address ends with the mount. */
  modelAt: (baseUrl: string, apiKey: string, send?: typeof fetch) => (model: string) => LanguageModel;
  /** What it sends besides the rest of a call, with `store` as given. */
  withStore?: (store: boolean) => { openai: { store: boolean } };
  /** Whether a stream reports one error or, for the two events that end it, two. */
  errorsOfBrokenStream: number;
  /** Whether it shows reasoning at all. */
  showsReasoning?: boolean;
  /** Whether it shows the reasoning of models that do not summarize it. */
  showsRawReasoning: boolean;
}

const person = z.object({ name: z.string(), age: z.number() });

const weather = tool({
  description: 'Tells the weather of a place.',
  inputSchema: z.object({ place: z.string() }),
  execute: ({ place }) => `rain in ${place}`,
});

/** Everything that both providers can do, as a suite for each mount. */
export function testAiSdk(provider: AiSdkProvider): void {
  const site = clientSite();

  const at = (mount: Mount, key = site.key) => provider.modelAt(site.baseUrl(mount), key);

  describe.each(mounts)(`${provider.name} at $mount`, ({ mount }) => {
    it('`generateText`', async () => {
      const { text, usage, finishReason, response } = await generateText({
        model: at(mount)('scripted'),
        prompt: 'Tell me of Bergen.',
      });
      expect(text).toBe('Bergen lies between seven mountains.');
      expect(usage).toMatchObject({ inputTokens: 11, outputTokens: 7 });
      expect(finishReason).toBe('stop');
      expect(response.headers?.['x-request-id']).toMatch(/^req_/);
    });

    it('`streamText`', async () => {
      const { textStream, finishReason, usage } = streamText({
        model: at(mount)('scripted'),
        prompt: 'Tell me of Bergen.',
      });
      const pieces = await Array.fromAsync(textStream);
      expect(pieces.join('')).toBe('Bergen lies between seven mountains.');
      expect(pieces.length).toBeGreaterThan(1);
      expect(await finishReason).toBe('stop');
      expect(await usage).toMatchObject({ inputTokens: 11, outputTokens: 7 });
    });

    it('reasoning', async (context) => {
      const { text, reasoningText } = await generateText({ model: at(mount)('scripted'), prompt: 'Think.' });
      const { showsReasoning = true } = provider;
      expect({ text, reasoningText }).toEqual({
        text: 'Forty-two.',
        reasoningText: showsReasoning ? 'The question is known.' : undefined,
      });
      if (!showsReasoning) remark(context, 'The provider does not read the reasoning of chat completions.');
    });

    it('raw reasoning', async (context) => {
      const result = streamText({ model: at(mount)('scripted-chat'), prompt: 'Think.' });
      expect(await result.text).toBe('Forty-two.');
      const shown = await result.reasoningText;
      if (provider.showsRawReasoning) expect(shown).toBe('The question is known.');
      else {
        expect(shown ?? '').toBe('');
        remark(context, 'The provider leaves reasoning out unless it is a summary.');
      }
    });

    it('an image', async () => {
      const prompt = onlyPrompt('Repeat what was said');
      const { text } = await generateText({
        model: at(mount)('scripted'),
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: prompt },
              { type: 'file', mediaType: 'image/png', data: Buffer.from('iVBORw0KGgo=', 'base64') },
            ],
          },
        ],
      });
      expect(text).toBe(`user: ${prompt}`);
      expect(JSON.stringify(site.model.requestsFor(prompt)[0]?.body)).toContain('iVBORw0KGgo=');
    });

    it('an answer that was cut short', async () => {
      const { finishReason } = await generateText({
        model: at(mount)('simulator'),
        prompt: 'Go on. [[sluice: tokens=100]]',
        maxOutputTokens: 16,
      });
      expect(finishReason).toBe('length');
    });

    it.each(['scripted', 'scripted-chat'])('tools in several steps, with %s', async (model) => {
      const { text, steps } = await generateText({
        model: at(mount)(model),
        prompt: 'Compare the weather in two places.',
        tools: { get_weather: weather },
        stopWhen: stepCountIs(5),
      });
      expect(text).toBe('The tools say: rain in Bergen and rain in Oslo.');
      expect(steps).toHaveLength(3);
    });

    it('tools in several steps of a stream', async () => {
      const result = streamText({
        model: at(mount)('scripted'),
        prompt: 'Compare the weather in two places.',
        tools: { get_weather: weather },
        stopWhen: stepCountIs(5),
      });
      const pieces = await Array.fromAsync(result.textStream);
      expect(pieces.join('')).toBe('The tools say: rain in Bergen and rain in Oslo.');
      expect(await result.steps).toHaveLength(3);
    });

    it('parallel tool calls', async () => {
      const { text, steps } = await generateText({
        model: at(mount)('scripted'),
        prompt: 'Ask for the weather in both.',
        tools: { get_weather: weather },
        stopWhen: stepCountIs(5),
      });
      expect(steps[0]?.toolCalls.map(({ input }) => input)).toEqual([{ place: 'Bergen' }, { place: 'Oslo' }]);
      expect(text).toBe('The tools say: rain in Bergen and rain in Oslo.');
    });

    it('`Output.object`', async () => {
      for (const model of ['scripted', 'simulator']) {
        const { output } = await generateText({
          model: at(mount)(model),
          prompt: 'Describe a person.',
          output: Output.object({ schema: person }),
        });
        expect(person.parse(output)).toEqual(output);
      }
    });

    it('`Output.object` in a stream', async () => {
      const result = streamText({
        model: at(mount)('scripted'),
        prompt: 'Describe a person.',
        output: Output.object({ schema: person }),
      });
      const partial = await Array.fromAsync(result.partialOutputStream);
      expect(partial.at(-1)).toEqual({ name: 'Ada', age: 36 });
    });

    const stores = provider.withStore === undefined ? [undefined] : [true, false];
    it.each(stores.map((store) => ({ store, title: store === undefined ? '' : `, \`store: ${store}\`` })))(
      'several turns$title',
      async ({ store }) => {
        const providerOptions =
          store === undefined ? {} : { providerOptions: provider.withStore?.(store) ?? {} };
        const model = at(mount)('scripted');
        const messages: ModelMessage[] = [{ role: 'user', content: 'My name is Ada.' }];
        const first = await generateText({ model, messages, ...providerOptions });
        messages.push(...first.response.messages, { role: 'user', content: 'Repeat what was said.' });
        const second = await generateText({
          model,
          messages,
          include: { requestBody: true },
          ...providerOptions,
        });
        expect(second.text).toBe(
          `user: My name is Ada. | assistant: ${first.text} | user: Repeat what was said.`,
        );
        const sent = JSON.stringify(second.request.body);
        if (store !== undefined) expect(sent.includes('item_reference')).toBe(store);
      },
    );

    it.each([true, false])('tools over several turns, with reasoning, streamed: %s', async (isStreamed) => {
      const model = at(mount)('simulator-reasoning');
      const tools = { get_weather: weather };
      const messages: ModelMessage[] = [{ role: 'user', content: 'Call get_weather for the weather.' }];
      const options = { model, messages, tools, stopWhen: stepCountIs(5) };
      const result = isStreamed ? streamText(options) : await generateText(options);
      if ('consumeStream' in result) await result.consumeStream();
      const { messages: answers } = await result.response;
      messages.push(...answers, { role: 'user', content: 'Thank you.' });
      const { text } = await generateText({ model, messages, tools });
      expect(text).not.toBe('');
    });

    it('400 as an `APICallError`, with its code and member', async () => {
      const call = generateText({ model: at(mount)('nobody'), prompt: 'Hello.', maxRetries: 0 });
      const error: unknown = await call.catch((caught: unknown) => caught);
      if (!APICallError.isInstance(error)) return expect.unreachable(String(error));
      expect(error).toMatchObject({ statusCode: 400, isRetryable: false });
      expect(error.message).toContain('nobody');
      const { error: told } = JSON.parse(error.responseBody ?? '');
      const { error_code: code, param } = told.details ?? { ...told, error_code: told.code };
      expect({ code, param }).toEqual({ code: 'model_not_found', param: 'model' });
    });

    it('401 as an `APICallError`', async () => {
      const call = generateText({
        model: at(mount, 'sk-nobody')('simulator'),
        prompt: 'Hello.',
        maxRetries: 0,
      });
      await expect(call).rejects.toMatchObject({ statusCode: 401, isRetryable: false });
    });

    it('429 as an `APICallError` that can be tried again', async () => {
      const model = at(mount, oneRequestKeys[mount])('simulator');
      await generateText({ model, prompt: 'The only one.' });
      const call = generateText({ model, prompt: 'One too many.', maxRetries: 0 });
      const error: unknown = await call.catch((caught: unknown) => caught);
      expect(RetryError.isInstance(error) ? error.lastError : error).toMatchObject({
        statusCode: 429,
        isRetryable: true,
      });
    });

    it('a stream that fails on the way', async (context) => {
      const errors: unknown[] = [];
      const result = streamText({
        model: at(mount)('scripted'),
        prompt: 'Break.',
        maxRetries: 0,
        onError: ({ error }) => void errors.push(error),
      });
      const pieces = await Array.fromAsync(result.textStream).catch(() => []);
      expect(pieces).toEqual(['It was a dark ']);
      expect(errors).toHaveLength(provider.errorsOfBrokenStream);
      if (errors.length > 1)
        remark(context, 'The provider reports both events that end it, `error` and `response.failed`.');
    });

    it('`fetch` that repeats no failure that must not be repeated', async (context) => {
      const callsOf = async (send: typeof fetch) => {
        const prompt = onlyPrompt('Tell me of Bergen');
        // The model says something where it has to call a tool, as often as it is asked.
        const call = generateText({
          model: provider.modelAt(site.baseUrl(mount), site.key, send)('scripted'),
          prompt,
          tools: { get_weather: weather },
          toolChoice: 'required',
          maxRetries: 1,
        });
        const error = await call.catch((caught: unknown) => caught);
        expect(RetryError.isInstance(error) ? error.lastError : error).toMatchObject({
          statusCode: 500,
          responseBody: expect.stringContaining('invalid_model_output'),
        });
        return site.model.requestsFor(prompt).length;
      };
      expect(await callsOf(fetchOnce)).toBe(2);
      expect(await callsOf(fetch)).toBe(4);
      remark(
        context,
        'It repeats what `x-should-retry: false` says not to repeat, unless `maxRetries` is 0 or its `fetch` is that of clients.md.',
      );
    });

    it('`abort` in mid-stream cancels the response', async () => {
      const prompt = onlyPrompt('Stall');
      const abort = new AbortController();
      const { fullStream } = streamText({
        model: at(mount)('scripted'),
        prompt,
        abortSignal: abort.signal,
        onError: () => {},
      });
      const types: string[] = [];
      for await (const { type } of fullStream) {
        types.push(type);
        if (type === 'text-delta') abort.abort();
      }
      expect(types.at(-1)).toBe('abort');
      const [request] = await eventually(() => {
        const requests = site.model.requestsFor(prompt);
        return requests.length > 0 && requests;
      });
      expect(await request?.ended).toBe('aborted');
    });

    const asking = ({ baseUrl, apiKey, prompt, once, maxRetries }: Asked) => ({
      model: provider.modelAt(baseUrl, apiKey)('scripted'),
      prompt,
      maxRetries,
      headers: { 'Idempotency-Key': once },
    });
    testBrokenConnections({
      site,
      mount,
      cutError: 'APICallError',
      whole: async (asked) => (await generateText(asking(asked))).text,
      stream: (asked) =>
        readStream(async function* pieces() {
          const { fullStream } = streamText({ ...asking(asked), onError: () => {} });
          for await (const part of fullStream) {
            if (part.type === 'text-delta') yield part.text;
            if (part.type === 'error') throw part.error;
          }
        }),
    });
  });
}
