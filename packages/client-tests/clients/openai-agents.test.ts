import { Agent, handoff, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { clientSite, mounts, onlyPrompt } from '../src/client-site.ts';

// Traces would go to OpenAI.
setTracingDisabled(true);

const site = clientSite();

const getWeather = tool({
  name: 'get_weather',
  description: 'Tells the weather of a place.',
  parameters: z.object({ place: z.string() }),
  execute: ({ place }) => `rain in ${place}`,
});

const bothPlaces = 'The tools say: rain in Bergen and rain in Oslo.';

function agent(model: string) {
  return new Agent({ name: 'Forecaster', instructions: 'Be short.', model, tools: [getWeather] });
}

describe.each(mounts)('OpenAI Agents SDK at $mount', ({ mount }) => {
  const providerWith = (options: { useResponsesWebSocket?: boolean } = {}) =>
    new OpenAIProvider({
      baseURL: site.baseUrl(mount),
      apiKey: site.key,
      useResponses: true,
      ...options,
    });
  const runner = () => new Runner({ modelProvider: providerWith(), tracingDisabled: true });

  it('`run`', async () => {
    const result = await runner().run(agent('scripted'), 'Tell me of Bergen.');
    expect(result.finalOutput).toBe('Bergen lies between seven mountains.');
    expect(result.state.usage).toMatchObject({ inputTokens: 11, outputTokens: 7 });
  });

  it.each(['scripted', 'scripted-chat'])('a tool loop of several steps, with %s', async (model) => {
    const result = await runner().run(agent(model), 'Compare the weather in two places.');
    expect(result.finalOutput).toBe(bothPlaces);
    expect(result.rawResponses).toHaveLength(3);
  });

  it('a tool loop in a stream', async () => {
    const result = await runner().run(agent('scripted'), 'Compare the weather in two places.', {
      stream: true,
    });
    const pieces = await Array.fromAsync(result.toTextStream());
    await result.completed;
    expect(pieces.join('')).toBe(bothPlaces);
    expect(result.finalOutput).toBe(bothPlaces);
  });

  it('a tool loop continued with `previousResponseId`', async () => {
    const first = await runner().run(agent('scripted'), 'My name is Ada.');
    const previousResponseId = first.lastResponseId ?? expect.unreachable();
    const second = await runner().run(agent('scripted'), 'Repeat what was said.', { previousResponseId });
    expect(second.finalOutput).toBe(
      `user: My name is Ada. | assistant: ${first.finalOutput} | user: Repeat what was said.`,
    );
  });

  it('several turns with the history', async () => {
    const first = await runner().run(agent('scripted'), 'Compare the weather in two places.');
    const second = await runner().run(agent('scripted'), [
      ...first.history,
      { role: 'user', content: 'Repeat what was said.' },
    ]);
    expect(second.finalOutput).toContain(bothPlaces);
  });

  it.each(['scripted', 'scripted-chat'])('reasoning in a stream, with %s', async (model) => {
    const result = await runner().run(agent(model), 'Think.', { stream: true });
    await Array.fromAsync(result.toTextStream());
    expect(result.finalOutput).toBe('Forty-two.');
    expect(result.newItems.map(({ type }) => type)).toEqual(['reasoning_item', 'message_output_item']);
    const next = await runner().run(agent(model), [
      ...result.history,
      { role: 'user', content: 'Repeat what was said.' },
    ]);
    expect(next.finalOutput).toBe('user: Think. | assistant: Forty-two. | user: Repeat what was said.');
  });

  it('structured output', async () => {
    const painter = new Agent({
      name: 'Painter',
      model: 'scripted',
      outputType: z.object({ name: z.string(), age: z.number() }),
    });
    const { finalOutput } = await runner().run(painter, 'Describe a person.');
    expect(finalOutput).toEqual({ name: 'Ada', age: 36 });
  });

  it('a handoff', async () => {
    const poet = new Agent({ name: 'Poet', model: 'scripted', handoffDescription: 'Writes verse.' });
    const triage = Agent.create({ name: 'Triage', model: 'scripted', handoffs: [handoff(poet)] });
    const result = await runner().run(triage, 'Hand this over.');
    expect(result.finalOutput).toBe('The poet says: roses are red.');
    expect(result.lastAgent?.name).toBe('Poet');
  });

  it('an error of the request', async () => {
    const run = runner().run(agent('nobody'), 'Hello.');
    await expect(run).rejects.toMatchObject({ status: 400, code: 'model_not_found' });
  });

  it('a stream that fails on the way', async () => {
    const result = await runner().run(agent('scripted'), 'Break.', { stream: true });
    await expect(Array.fromAsync(result.toTextStream())).rejects.toThrow();
    await expect(result.completed).rejects.toThrow();
  });

  it('`abort` in mid-stream cancels the response', async () => {
    const prompt = onlyPrompt('Stall');
    const abort = new AbortController();
    const result = await runner().run(agent('scripted'), prompt, { stream: true, signal: abort.signal });
    for await (const _ of result.toTextStream()) abort.abort();
    expect(await site.model.requestsFor(prompt)[0]?.ended).toBe('aborted');
  });

  it('a tool loop over a WebSocket', async () => {
    const modelProvider = providerWith({ useResponsesWebSocket: true });
    try {
      const sockets = new Runner({ modelProvider, tracingDisabled: true });
      const result = await sockets.run(agent('scripted'), 'Compare the weather in two places.', {
        stream: true,
      });
      const pieces = await Array.fromAsync(result.toTextStream());
      expect(pieces.join('')).toBe(bothPlaces);
      expect(result.rawResponses).toHaveLength(3);
    } finally {
      await modelProvider.close();
    }
  });
});
