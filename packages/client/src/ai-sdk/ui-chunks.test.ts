import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai';
import { describe, expect, it } from 'vitest';
import type { OutputItem, ResponseEvent, ResponseObject } from '../index.ts';
import { UiChunks } from './ui-chunks.ts';

const inItem = { item_id: 'i', output_index: 0 };
const inPart = { ...inItem, content_index: 0 };

/** Numbered events; a life-cycle event has the members of its response that are given. */
function events(...unnumbered: object[]): ResponseEvent[] {
  return unnumbered.map((event, at) => ({ ...event, sequence_number: at }) as ResponseEvent); // as a server sends them
}
const response = (members: object = {}) => ({
  response: { id: 'r', status: 'completed', output: [], error: null, incomplete_details: null, ...members },
});
const created = { type: 'response.created', ...response({ status: 'queued' }) };
const completed = { type: 'response.completed', ...response() };
const call = (members: Partial<Extract<OutputItem, { type: 'function_call' }>> = {}) => ({
  type: 'function_call',
  id: 'i',
  status: 'completed',
  call_id: 'call_1',
  name: 'weather',
  arguments: '{"city":"Oslo"}',
  ...members,
});

function chunks(of: ResponseEvent[], options?: ConstructorParameters<typeof UiChunks>[0]): UIMessageChunk[] {
  const made = new UiChunks(options);
  return of.flatMap((event) => made.of(event));
}

/** The message that the AI SDK makes of chunks, and its errors. */
async function messageOf(
  made: UIMessageChunk[],
): Promise<{ message: UIMessage | undefined; errors: string[] }> {
  const errors: string[] = [];
  let message: UIMessage | undefined;
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of made) controller.enqueue(chunk);
      controller.close();
    },
  });
  const states = readUIMessageStream({ stream, onError: (error) => errors.push((error as Error).message) });
  for await (const state of states) message = state;
  return { message, errors };
}

describe('the events of a response', () => {
  it('become a message with reasoning, text and sources', async () => {
    const made = chunks(
      events(
        created,
        { type: 'response.reasoning_summary_part.added', ...inItem, summary_index: 0, part: {} },
        { type: 'response.reasoning_summary_text.delta', ...inItem, summary_index: 0, delta: 'Hm' },
        { type: 'response.reasoning_summary_part.done', ...inItem, summary_index: 0, part: {} },
        { type: 'response.content_part.added', ...inPart, part: { type: 'reasoning_text', text: '' } },
        { type: 'response.reasoning_text.delta', ...inPart, delta: 'So' },
        { type: 'response.content_part.done', ...inPart, part: { type: 'reasoning_text', text: 'So' } },
        {
          type: 'response.content_part.added',
          ...inPart,
          item_id: 'j',
          part: { type: 'output_text', text: '' },
        },
        { type: 'response.output_text.delta', ...inPart, item_id: 'j', delta: 'Hel' },
        { type: 'response.output_text.delta', ...inPart, item_id: 'j', delta: 'lo' },
        {
          type: 'response.output_text.annotation.added',
          ...inPart,
          item_id: 'j',
          annotation_index: 0,
          annotation: { type: 'url_citation', url: 'https://example.com', title: 'Example' },
        },
        {
          type: 'response.content_part.done',
          ...inPart,
          item_id: 'j',
          part: { type: 'output_text', text: 'Hello' },
        },
        completed,
      ),
    );
    expect(made.at(-1)).toEqual({ type: 'finish', finishReason: 'stop' });
    const { message, errors } = await messageOf(made);
    expect(errors).toEqual([]);
    expect(message).toMatchObject({
      id: 'r',
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        { type: 'reasoning', text: 'Hm', state: 'done' },
        { type: 'reasoning', text: 'So', state: 'done' },
        { type: 'text', text: 'Hello', state: 'done' },
        { type: 'source-url', url: 'https://example.com', title: 'Example' },
      ],
    });
  });

  it('become a message with a call of a tool', async () => {
    const made = chunks(
      events(
        created,
        {
          type: 'response.output_item.added',
          output_index: 0,
          item: call({ status: 'in_progress', arguments: '' }),
        },
        { type: 'response.function_call_arguments.delta', ...inItem, delta: '{"city":"Oslo"}' },
        { type: 'response.output_item.done', output_index: 0, item: call() },
        { type: 'response.completed', ...response({ output: [call()] }) },
      ),
    );
    expect(made.at(-1)).toEqual({ type: 'finish', finishReason: 'tool-calls' });
    const { message } = await messageOf(made);
    expect(message?.parts.at(-1)).toMatchObject({
      type: 'tool-weather',
      toolCallId: 'call_1',
      state: 'input-available',
      input: { city: 'Oslo' },
    });
  });

  it.each([
    ['is not JSON', call({ arguments: '{"city' })],
    ['was broken off', call({ status: 'incomplete' })],
  ])('show a call whose input %s as an error', async (_why, item) => {
    const { message } = await messageOf(
      chunks(
        events(
          created,
          { type: 'response.output_item.added', output_index: 0, item: call({ arguments: '' }) },
          { type: 'response.output_item.done', output_index: 0, item },
          completed,
        ),
      ),
    );
    expect(message?.parts.at(-1)).toMatchObject({ state: 'output-error', toolCallId: 'call_1' });
  });

  it('end as the response ended', async () => {
    const endOf = (type: string, members: object) => chunks(events({ type, ...response(members) })).at(-1);
    const incomplete = (reason: string) =>
      endOf('response.incomplete', { status: 'incomplete', incomplete_details: { reason } });
    expect(incomplete('max_output_tokens')).toEqual({ type: 'finish', finishReason: 'length' });
    expect(incomplete('content_filter')).toEqual({ type: 'finish', finishReason: 'content-filter' });
    expect(incomplete('max_tool_calls')).toEqual({ type: 'finish', finishReason: 'other' });
    expect(endOf('response.incomplete', { status: 'cancelled' })).toEqual({
      type: 'abort',
      reason: 'cancelled',
    });
    const failed = { status: 'failed', error: { message: 'The model failed.' } };
    expect(endOf('response.failed', failed)).toEqual({ type: 'error', errorText: 'The model failed.' });
    const { errors } = await messageOf(
      chunks(events(created, { type: 'response.failed', ...response(failed) })),
    );
    expect(errors).toEqual(['The model failed.']);
  });
});

describe('a response that has ended', () => {
  const whole = (members: object) =>
    new UiChunks({ messageId: 'm' }).ofWhole(response(members).response as unknown as ResponseObject); // as far as it is read

  it('becomes a message with the parts that its events give', async () => {
    const annotations = [{ type: 'url_citation', url: 'https://example.com', title: 'Example' }];
    const output = [
      {
        type: 'reasoning',
        id: 'i',
        summary: [{ type: 'summary_text', text: 'Hm' }],
        content: [{ type: 'reasoning_text', text: 'So' }],
      },
      {
        type: 'message',
        id: 'j',
        content: [
          { type: 'output_text', text: 'Hello', annotations },
          { type: 'refusal', refusal: 'No.' },
        ],
      },
      { type: 'custom_tool_call', id: 'k', call_id: 'call_2', name: 'run', input: 'x' },
      call({ id: 'l' }),
    ];
    const made = whole({ output });
    expect(made.at(-1)).toEqual({ type: 'finish', finishReason: 'tool-calls' });
    const { message, errors } = await messageOf(made);
    expect(errors).toEqual([]);
    expect(message).toMatchObject({
      id: 'm',
      parts: [
        { type: 'step-start' },
        { type: 'reasoning', text: 'Hm', state: 'done' },
        { type: 'reasoning', text: 'So', state: 'done' },
        { type: 'text', text: 'Hello', state: 'done' },
        { type: 'source-url', sourceId: 'j:0:0', url: 'https://example.com', title: 'Example' },
        { type: 'text', text: 'No.', state: 'done' },
        { type: 'tool-weather', toolCallId: 'call_1', state: 'input-available', input: { city: 'Oslo' } },
      ],
    });
  });

  it('shows its end', () => {
    const failed = { status: 'failed', error: { message: 'The model failed.' } };
    expect(whole(failed).at(-1)).toEqual({ type: 'error', errorText: 'The model failed.' });
    expect(whole({ status: 'cancelled' }).at(-1)).toEqual({ type: 'abort', reason: 'cancelled' });
  });
});
