import { deriveEvents, failureBody, type OutputItem, type Response } from '@sluice/contract';
import { acceptedResponse, completedResponse, usageOf } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { ChatChunks } from './chat-chunks.ts';
import { chatChunkSchema, chatCompletionOf, chatCompletionSchema } from './chat-completion.ts';

const usage = usageOf(5, 7, { cached: 2, reasoning: 3 });

function message(...content: Extract<OutputItem, { type: 'message' }>['content']): OutputItem {
  return { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content };
}

function said(text: string, more: object = {}) {
  return { type: 'output_text' as const, text, annotations: [], logprobs: [], ...more };
}

function reasoned(summary: string[], texts: string[]): OutputItem {
  return {
    type: 'reasoning',
    id: 'rs_1',
    summary: summary.map((text) => ({ type: 'summary_text', text })),
    content: texts.map((text) => ({ type: 'reasoning_text', text })),
  };
}

function called(callId: string, name: string): OutputItem {
  const call = { id: `fc_${callId}`, status: 'completed', call_id: callId, name } as const;
  return { type: 'function_call', ...call, arguments: '{"a":"b"}' };
}

const ran: OutputItem = {
  type: 'custom_tool_call',
  id: 'ct_1',
  status: 'completed',
  call_id: 'c3',
  name: 'shell',
  input: 'ls -l',
};

const ended = (output: OutputItem[]) => completedResponse(output, usage);

/** The chunks of a response, as a stream of it has them. */
function chunksOf(response: Response, { includesUsage = false } = {}): Record<string, unknown>[] {
  const chunks = new ChatChunks({ includesUsage });
  const lifecycle = (type: string, whole: Response) =>
    chunks.of(type, JSON.stringify({ type, sequence_number: 0, response: { object: 'response', ...whole } }));
  const json = [
    ...lifecycle('response.created', acceptedResponse()),
    ...lifecycle('response.in_progress', acceptedResponse()),
    ...[...deriveEvents(response)].flatMap((event) => chunks.of(event.type, JSON.stringify(event))),
    ...lifecycle(`response.${response.status === 'cancelled' ? 'incomplete' : response.status}`, response),
  ];
  return json.map((chunk) => JSON.parse(chunk) as Record<string, unknown>);
}

/** Puts chunks together, as a client does. */
function together(chunks: readonly Record<string, unknown>[]) {
  const whole = {
    content: '',
    refusal: '',
    reasoning: '',
    annotations: [] as unknown[],
    calls: [] as unknown[][],
  };
  let finish: unknown;
  const logprobs: unknown[] = [];
  for (const chunk of chunks) {
    const { choices } = chatChunkSchema.parse(chunk);
    for (const { delta, finish_reason: reason, logprobs: more } of choices) {
      whole.content += (delta['content'] ?? '') as string;
      whole.refusal += (delta['refusal'] ?? '') as string;
      whole.reasoning += (delta['reasoning_content'] ?? '') as string;
      whole.annotations.push(...((delta['annotations'] ?? []) as unknown[]));
      logprobs.push(...(more?.content ?? []));
      for (const call of (delta['tool_calls'] ?? []) as Record<string, Record<string, string>>[]) {
        const { index, id, type, ...rest } = call;
        const at = Number(index);
        const before = whole.calls[at] ?? [id, type, Object.values(rest)[0]?.['name'], ''];
        const { arguments: args = '', input = '' } = Object.values(rest)[0] ?? {};
        whole.calls[at] = [...before.slice(0, 3), `${String(before[3])}${args}${input}`];
      }
      finish = reason ?? finish;
    }
  }
  return { ...whole, logprobs, finish };
}

const logprobs = [{ token: 'a', logprob: -0.1, bytes: [97], top_logprobs: [] }];
const cited = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 1 };
const everything = [
  reasoned(['First.', 'Second.'], ['Raw.']),
  message(said('Hello', { logprobs, annotations: [cited, { type: 'file_citation' }] }), said(' there')),
  message({ type: 'refusal', refusal: 'Not that.' }),
  called('c1', 'look'),
  called('c2', 'look'),
  ran,
];

describe('a response as a chat completion', () => {
  it('has all that has a place in one', () => {
    const completion = chatCompletionOf(ended(everything));
    expect(chatCompletionSchema.parse(completion)).toEqual(completion);
    const call = { type: 'function', function: { name: 'look', arguments: '{"a":"b"}' } };
    const { type: _, ...citation } = cited;
    expect(completion).toEqual({
      id: 'chatcmpl-0abc',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'm',
      service_tier: 'default',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'Hello there',
            refusal: 'Not that.',
            annotations: [{ type: 'url_citation', url_citation: citation }],
            reasoning_content: 'First.\n\nSecond.\n\nRaw.',
            tool_calls: [
              { id: 'c1', ...call },
              { id: 'c2', ...call },
              { id: 'c3', type: 'custom', custom: { name: 'shell', input: 'ls -l' } },
            ],
          },
          logprobs: { content: logprobs, refusal: null },
          finish_reason: 'tool_calls',
        },
      ],
      usage: {
        prompt_tokens: 5,
        completion_tokens: 7,
        total_tokens: 12,
        prompt_tokens_details: { cached_tokens: 2 },
        completion_tokens_details: { reasoning_tokens: 3 },
      },
    });
  });

  it.each([
    ['everything', everything],
    ['a text', [message(said('Hi'))]],
    ['an empty text', [message(said(''))]],
    ['nothing', []],
    ['two kinds of reasoning', [reasoned([], ['One']), reasoned(['Two'], []), message(said('Hi'))]],
  ])('is the same whole and as chunks: %s', (_what, output) => {
    const {
      message: whole,
      logprobs: known,
      finish_reason: finish,
    } = chatCompletionOf(ended(output)).choices[0] ?? {};
    const { calls, ...found } = together(chunksOf(ended(output)));
    expect(found).toEqual({
      content: whole?.content ?? '',
      refusal: whole?.refusal ?? '',
      reasoning: whole?.reasoning_content ?? '',
      annotations: whole?.annotations,
      logprobs: known?.content ?? [],
      finish,
    });
    expect(calls).toEqual(
      (whole?.tool_calls ?? []).map((call) =>
        call.type === 'function'
          ? [call.id, 'function', call.function.name, call.function.arguments]
          : [call.id, 'custom', call.custom.name, call.custom.input],
      ),
    );
  });

  it('says why it has ended', () => {
    const end = (reason: 'max_output_tokens' | 'content_filter' | 'max_tool_calls') =>
      chatCompletionOf({
        ...ended([message(said('Hi'))]),
        status: 'incomplete',
        incomplete_details: { reason },
      }).choices[0]?.finish_reason;
    expect(chatCompletionOf(ended([message(said('Hi'))])).choices[0]?.finish_reason).toBe('stop');
    expect(end('max_output_tokens')).toBe('length');
    expect(end('max_tool_calls')).toBe('length');
    expect(end('content_filter')).toBe('content_filter');
  });

  it('is an error when somebody has cancelled it', () => {
    const response: Response = {
      ...ended([message(said('Hi'))]),
      status: 'cancelled',
      incomplete_details: { reason: 'cancelled' },
    };
    expect(() => chatCompletionOf(response)).toThrow(expect.objectContaining({ code: 'server_error' }));
    expect(chunksOf(response).at(-1)).toMatchObject({ error: { code: 'server_error' } });
  });
});

describe('the chunks of a chat completion', () => {
  it('begin with the role, and have the same head', () => {
    const chunks = chunksOf(ended(everything));
    const head = { id: 'chatcmpl-0abc', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'm' };
    for (const chunk of chunks) expect(chunk).toMatchObject(head);
    expect(chunks[0]).toMatchObject({ choices: [{ delta: { role: 'assistant' } }] });
    expect(JSON.stringify(chunks.slice(1))).not.toContain('"role"');
  });

  it('end with the usage, if that is asked for', () => {
    const chunks = chunksOf(ended([message(said('Hi'))]), { includesUsage: true });
    expect(chunks.slice(0, -1).map(({ usage: of }) => of)).toEqual(chunks.slice(0, -1).map(() => null));
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 12 } });
    expect(chunksOf(ended([])).at(-1)).not.toHaveProperty('usage');
  });

  it('end with the error of a failure, which names a member of the request', () => {
    const error = failureBody('context_length_exceeded', "Too long: 'input'.", 'input');
    const chunks = chunksOf({ ...ended([message(said('Hi'))]), status: 'failed', error: { ...error } });
    expect(chunks.at(-1)).toEqual({
      error: {
        message: "Too long: 'messages'.",
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    });
  });
});
