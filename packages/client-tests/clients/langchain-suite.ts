import { type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import type { ChatAnthropic } from '@langchain/anthropic';
import type { ChatOpenAI } from '@langchain/openai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { clientSite, mounts, oneRequestKeys, onlyPrompt } from '../src/client-site.ts';
import { type Asked, readStream, testBrokenConnections } from './broken-connections.ts';
import { remark } from './remark.ts';

const getWeather = tool(({ place }) => `rain in ${place}`, {
  name: 'get_weather',
  description: 'Tells the weather of a place.',
  schema: z.object({ place: z.string() }),
});

interface ChatOptions {
  /** The address, with the mount. */
  baseUrl: string;
  model: string;
  apiKey: string;
  maxRetries: number;
  /** Headers of each request. */
  headers: Record<string, string>;
}

interface LangChainSuite {
  name: string;
  chat: (options: ChatOptions) => ChatOpenAI | ChatAnthropic;
  /** Whether it continues stored responses. */
  continuesResponses?: boolean;
  /** Whether it reads the tokens of the input where a stream has them, at its end. */
  countsInputOfStreams?: boolean;
  /** The members of the error for a model that is not there. */
  unknownModel?: object;
}

/** Everything that its chat model can do, as a suite for each mount. */
export function testLangChain({
  name,
  chat: chatOf,
  continuesResponses = false,
  countsInputOfStreams = true,
  unknownModel = { status: 400, code: 'model_not_found', param: 'model' },
}: LangChainSuite): void {
  const site = clientSite();

  describe.each(mounts)(`${name} at $mount`, ({ mount }) => {
    const chat = (model: string, apiKey = site.key) =>
      chatOf({ baseUrl: site.baseUrl(mount), model, apiKey, maxRetries: 0, headers: {} });

    it('`invoke`', async () => {
      const message = await chat('scripted').invoke('Tell me of Bergen.');
      expect(message.text).toBe('Bergen lies between seven mountains.');
      expect(message.usage_metadata).toMatchObject({ input_tokens: 11, output_tokens: 7 });
    });

    it('`generate` with the text of each generation', async () => {
      const { generations } = await chat('scripted').generate([[new HumanMessage('Tell me of Bergen.')]]);
      expect(generations[0]?.[0]?.text).toBe('Bergen lies between seven mountains.');
    });

    it('`stream`', async () => {
      const pieces = [];
      for await (const piece of await chat('scripted').stream('Tell me of Bergen.')) pieces.push(piece.text);
      expect(pieces.join('')).toBe('Bergen lies between seven mountains.');
      expect(pieces.filter((piece) => piece !== '').length).toBeGreaterThan(1);
    });

    it('usage of a stream', async (context) => {
      let whole;
      for await (const piece of await chat('scripted').stream('Tell me of Bergen.'))
        whole = whole === undefined ? piece : whole.concat(piece);
      const input = countsInputOfStreams ? 11 : 0;
      expect(whole?.usage_metadata).toMatchObject({ input_tokens: input, output_tokens: 7 });
      if (!countsInputOfStreams)
        remark(
          context,
          'It reads the tokens of the input at the beginning of a stream, where nothing is counted yet: they are 0.',
        );
    });

    it('an image', async () => {
      const prompt = onlyPrompt('Repeat what was said');
      const said = new HumanMessage({
        contentBlocks: [
          { type: 'text', text: prompt },
          { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' },
        ],
      });
      const message = await chat('scripted').invoke([said]);
      expect(message.text).toBe(`user: ${prompt}`);
      expect(JSON.stringify(site.model.requestsFor(prompt)[0]?.body)).toContain('iVBORw0KGgo=');
    });

    it.each(['scripted', 'scripted-chat'])('tools in several steps, with %s', async (model) => {
      const withTools = chat(model).bindTools([getWeather]);
      const messages: BaseMessage[] = [new HumanMessage('Compare the weather in two places.')];
      for (let step = 0; step < 5; step += 1) {
        const answer = await withTools.invoke(messages);
        messages.push(answer);
        for (const call of answer.tool_calls ?? []) messages.push(await getWeather.invoke(call));
        if ((answer.tool_calls ?? []).length === 0) break;
      }
      expect(messages.at(-1)?.text).toBe('The tools say: rain in Bergen and rain in Oslo.');
      expect(messages).toHaveLength(6);
    });

    it('tool calls in a stream', async () => {
      let whole;
      const stream = await chat('scripted').bindTools([getWeather]).stream('Ask for the weather in both.');
      for await (const piece of stream) whole = whole === undefined ? piece : whole.concat(piece);
      expect(whole?.tool_calls?.map(({ args }) => args)).toEqual([{ place: 'Bergen' }, { place: 'Oslo' }]);
    });

    it.each(['scripted', 'scripted-chat'])('reasoning, with %s', async (model) => {
      const first = await chat(model).invoke('Think.');
      expect(first.text).toBe('Forty-two.');
      const said = [new HumanMessage('Think.'), first, new HumanMessage('Repeat what was said.')];
      expect((await chat(model).invoke(said)).text).toBe(
        'user: Think. | assistant: Forty-two. | user: Repeat what was said.',
      );
    });

    it('structured output', async () => {
      const person = z.object({ name: z.string(), age: z.number() });
      const structured = chat('scripted').withStructuredOutput(person, {
        method: 'jsonSchema',
        name: 'person',
      });
      expect(await structured.invoke('Describe a person.')).toEqual({ name: 'Ada', age: 36 });
    });

    it('several turns', async () => {
      const first = await chat('scripted').invoke('My name is Ada.');
      const said = [new HumanMessage('My name is Ada.'), first, new HumanMessage('Repeat what was said.')];
      const second = await chat('scripted').invoke(said);
      expect(second.text).toBe(
        `user: My name is Ada. | assistant: ${first.text} | user: Repeat what was said.`,
      );
    });

    it.each(continuesResponses ? ['`previous_response_id`'] : [])('%s', async () => {
      const first = await chat('scripted').invoke('My name is Ada.');
      const second = await chat('scripted').invoke('Repeat what was said.', {
        previous_response_id: String(first.response_metadata['id']),
      });
      expect(second.text).toBe(
        `user: My name is Ada. | assistant: ${first.text} | user: Repeat what was said.`,
      );
    });

    it('400 with its code and member', async () => {
      const call = chat('nobody').invoke('Hello.');
      await expect(call).rejects.toMatchObject(unknownModel);
    });

    it('401', async () => {
      const call = chat('scripted', 'sk-nobody').invoke('Hello.');
      await expect(call).rejects.toMatchObject({ status: 401 });
    });

    it('429 with its code', async () => {
      const slow = chat('simulator', oneRequestKeys[mount]);
      await slow.invoke('The only one.');
      await expect(slow.invoke('One too many.')).rejects.toMatchObject({ status: 429 });
    });

    it('a stream that fails on the way', async () => {
      const reading = async () => Array.fromAsync(await chat('scripted').stream('Break.'));
      await expect(reading()).rejects.toThrow();
    });

    it('`abort` in mid-stream cancels the response', async () => {
      const prompt = onlyPrompt('Stall');
      const abort = new AbortController();
      const reading = async () => {
        for await (const piece of await chat('scripted').stream(prompt, { signal: abort.signal })) {
          if (piece.text !== '') abort.abort();
        }
      };
      await expect(reading()).rejects.toThrow();
      expect(await site.model.requestsFor(prompt)[0]?.ended).toBe('aborted');
    });

    const asking = ({ once, prompt: _prompt, ...options }: Asked) =>
      chatOf({ ...options, model: 'scripted', headers: { 'Idempotency-Key': once } });
    testBrokenConnections({
      site,
      mount,
      cutError: 'TypeError',
      cutRemark: 'It throws the `TypeError` of `fetch`.',
      whole: async (asked) => (await asking(asked).invoke(asked.prompt)).text,
      stream: (asked) =>
        readStream(async function* pieces() {
          for await (const { text } of await asking(asked).stream(asked.prompt)) yield text;
        }),
    });
  });
}
