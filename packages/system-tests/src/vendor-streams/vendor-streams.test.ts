import { readFileSync } from 'node:fs';
import { forAllTests, startFakeUpstream, type UpstreamHandler } from '@sluice/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { testService } from '../service.ts';
import { send } from '../wire.ts';
import { chatAnswer, framesIn, messageAnswer, wholeChatAnswer, wholeMessageAnswer } from './put-together.ts';

// Streams in the form that the vendors publish go in at the upstream, and come out of the door of the same protocol.

const upstream = forAllTests(startFakeUpstream);
beforeAll(() => {
  // The prompt is the name of the stream.
  const replay: UpstreamHandler = async ({ request, stream }) => {
    const { messages } = request.body as { messages: { content: unknown }[] };
    const [, name = ''] = /stream ([\w-]+)/.exec(JSON.stringify(messages)) ?? [];
    const out = stream();
    await out.raw(streamNamed(name));
    out.end();
  };
  upstream.onChatCompletions(replay);
  upstream.onOther((exchange) => {
    if (exchange.request.path.startsWith('/v1/messages')) return replay(exchange);
    exchange.json(404, {});
  });
});
const service = testService(() => ({
  settings: {
    providers: [
      { id: 'chat', type: 'openai-chat', baseUrl: upstream.baseUrl },
      {
        id: 'anthropic',
        type: 'ai-sdk',
        package: '@ai-sdk/anthropic',
        options: { baseURL: upstream.baseUrl, apiKey: 'sk-upstream' },
      },
    ],
    models: [
      { id: 'chat', routes: [{ provider: 'chat', model: 'gpt-4.1' }] },
      { id: 'claude', routes: [{ provider: 'anthropic', model: 'claude-opus-4-6' }] },
    ],
    recovery: { maxAttempts: 1 },
  },
}));

function streamNamed(name: string): string {
  return readFileSync(new URL(`__fixtures__/${name}.sse`, import.meta.url), 'utf8');
}

const parameters = { type: 'object' };

async function ask(name: string, isStream: boolean, members: object = {}): Promise<string> {
  const isChat = name.startsWith('chat');
  const messages = [{ role: 'user', content: `stream ${name}` }];
  const tools = ['get_weather', 'get_time'].map((tool) =>
    isChat
      ? { type: 'function', function: { name: tool, parameters } }
      : { name: tool, input_schema: parameters },
  );
  const body = isChat
    ? {
        model: 'chat',
        messages,
        tools,
        ...(isStream && { stream: true, stream_options: { include_usage: true } }),
      }
    : {
        model: 'claude',
        max_tokens: 4_096,
        messages,
        tools,
        thinking: { type: 'adaptive' },
        stream: isStream,
      };
  const { text } = await send(service.apiUrls[0] ?? '', {
    method: 'POST',
    path: isChat ? '/v1/chat/completions' : '/v1/messages',
    key: service.key,
    body: { ...body, ...members },
  });
  return text;
}

describe('a chat completion of an upstream comes out of the same door', () => {
  const logprobs = { logprobs: true, top_logprobs: 2 };
  it.each([
    ['chat-parallel-calls', {}],
    ['chat-text-and-call', {}],
    ['chat-refusal', {}],
    ['chat-logprobs', logprobs],
    ['chat-reasoning', {}],
    ['chat-length', {}],
    ['chat-filtered', {}],
    ['chat-citations', {}],
  ])('%s', async (name, members) => {
    const expected = chatAnswer(framesIn(streamNamed(name)));
    expect(chatAnswer(framesIn(await ask(name, true, members)))).toEqual(expected);
    const whole = JSON.parse(await ask(name, false, members)) as Record<string, unknown>;
    expect(wholeChatAnswer(whole)).toEqual(expected);
  });

  it('with the end of a failure, without the words of the upstream', async () => {
    const stream = await ask('chat-error', true);
    const frames = framesIn(stream);
    expect(chatAnswer(frames.slice(0, -1)).content).toBe('Well');
    expect(frames.at(-1)).toMatchObject({ error: { type: 'server_error', code: 'upstream_error' } });
    expect(stream).not.toMatch(/secret|\[DONE\]/);
  });
});

describe('a message of an upstream comes out of the same door', () => {
  it.each([
    'messages-thinking-and-tools',
    'messages-redacted-thinking',
    'messages-max-tokens',
    'messages-refusal',
    'messages-citations',
  ])('%s', async (name) => {
    const expected = messageAnswer(framesIn(streamNamed(name)));
    expect(messageAnswer(framesIn(await ask(name, true)))).toEqual(expected);
    expect(wholeMessageAnswer(await ask(name, false))).toEqual(expected);
  });

  it('with the stop sequence before which it has ended', async () => {
    const name = 'messages-stop-sequence';
    const expected = messageAnswer(framesIn(streamNamed(name)));
    expect(expected).toMatchObject({ stopReason: 'stop_sequence', stopSequence: 'three' });
    const members = { stop_sequences: ['four', 'three'] };
    expect(messageAnswer(framesIn(await ask(name, true, members)))).toEqual(expected);
    expect(wholeMessageAnswer(await ask(name, false, members))).toEqual(expected);
  });

  it('after its marks for caches have gone in', async () => {
    const cache_control = { type: 'ephemeral', ttl: '1h' };
    const system = [{ type: 'text', text: 'Be brief.', cache_control }];
    const before = upstream.requests.length;
    await ask('messages-max-tokens', false, { system });
    const { body } = await upstream.request(before);
    expect(body).toMatchObject({ system });
    expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(1);
  });

  it('with the end of a failure, without the words of the upstream', async () => {
    const stream = await ask('messages-error', true);
    const frames = framesIn(stream);
    expect(messageAnswer(frames).blocks).toEqual([{ type: 'text', text: 'Well' }]);
    expect(frames.at(-1)).toMatchObject({ type: 'error', error: { type: expect.stringMatching(/_error$/) } });
    expect(stream).not.toMatch(/secret|message_stop/);
  });
});
