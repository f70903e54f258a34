import { type Generation, parseCreateResponse } from '@sluice/contract';
import type { FakeUpstream, UpstreamHandler, UpstreamStream } from '@sluice/testing';
import type { Provider, ProviderChunk, ProviderTimeouts } from '../src/index.ts';

export const timeouts: ProviderTimeouts = { connectMs: 5000, firstTokenMs: 5000, idleMs: 5000 };

export const request = (members: object = {}): Generation =>
  parseCreateResponse({
    model: 'm',
    input: 'Please use first_tool and second_tool',
    ...members,
  });
export const tools = ['first_tool', 'second_tool'].map((name) => ({ type: 'function', name }));

/** The shape of one API's events. */
export interface Wire {
  type: 'openai-chat' | 'openai-responses';
  handle(upstream: FakeUpstream, handler: UpstreamHandler): void;
  text(delta: string): object;
  /** A whole answer of the given kind after its text. */
  finish(kind: 'stop' | 'length'): object[];
  calls: object[];
  error: object;
}

const chatChunk = (delta: object, finish: string | null = null, more: object = {}) => ({
  id: 'x',
  novelty: { unknown: true },
  choices: [{ index: 0, delta: { novelty: 1, ...delta }, finish_reason: finish }],
  ...more,
});
const chatUsage = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } };
const chatCall = (index: number, name: string) => [
  chatChunk({
    tool_calls: [{ index, id: `c${index}`, type: 'function', function: { name, arguments: '' } }],
  }),
  chatChunk({ tool_calls: [{ index, function: { arguments: '{}' } }] }),
];
export const chat: Wire = {
  type: 'openai-chat',
  handle: (upstream, handler) => upstream.onChatCompletions(handler),
  text: (delta) => chatChunk({ content: delta }),
  finish: (kind) => [chatChunk({}, kind), chatUsage],
  calls: [
    ...chatCall(0, 'first_tool'),
    ...chatCall(1, 'second_tool'),
    chatChunk({}, 'tool_calls'),
    chatUsage,
  ],
  error: { error: { message: 'secret words of the upstream', code: 500 } },
};

const usage = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
const responsesCall = (index: number, name: string) => [
  {
    type: 'response.output_item.added',
    output_index: index,
    item: { type: 'function_call', call_id: `c${index}`, name },
  },
  { type: 'response.function_call_arguments.delta', output_index: index, delta: '{}' },
];
export const responses: Wire = {
  type: 'openai-responses',
  handle: (upstream, handler) => upstream.onResponses(handler),
  text: (delta) => ({
    type: 'response.output_text.delta',
    output_index: 0,
    content_index: 0,
    delta,
    novelty: 1,
  }),
  finish: (kind) => [
    { type: 'response.novelty', unknown: true },
    kind === 'stop'
      ? { type: 'response.completed', response: { status: 'completed', output: [], usage } }
      : {
          type: 'response.incomplete',
          response: { incomplete_details: { reason: 'max_output_tokens' }, output: [], usage },
        },
  ],
  calls: [
    ...responsesCall(0, 'first_tool'),
    ...responsesCall(1, 'second_tool'),
    { type: 'response.completed', response: { status: 'completed', output: [], usage } },
  ],
  error: { type: 'error', error: { message: 'secret words of the upstream', code: 'server_error' } },
};

export async function send(stream: UpstreamStream, events: object[]): Promise<void> {
  for (const event of events) await stream.send(event);
}

/** Answers with these events, and ends the stream in one of the ways of an upstream. */
export const sending =
  (events: object[], how: 'done' | 'end' | 'cut' = 'done'): UpstreamHandler =>
  async ({ stream }) => {
    const out = stream();
    await send(out, events);
    out[how]();
  };

export async function* run(
  provider: Provider,
  generation: Generation,
  signal = new AbortController().signal,
) {
  yield* provider.generate(generation, { model: 'm', signal, responseId: 'r', attempt: 1 });
}

/** All chunks of a stream. A list that is handed in has those before a failure, too. */
export async function all(
  stream: AsyncIterable<ProviderChunk>,
  chunks: ProviderChunk[] = [],
): Promise<ProviderChunk[]> {
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}
