import { readFileSync } from 'node:fs';
import { createParser } from 'eventsource-parser';
import { costAgainstParsing, usageOf } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { ResponsesReader } from './responses-reader.ts';
import type { ProviderChunk } from '../provider.ts';

function readAll(events: object[], wantsLogprobs = false, opaqueOrigin?: string): ProviderChunk[] {
  const reader = new ResponsesReader('up', { wantsLogprobs, opaqueOrigin });
  const chunks = events.flatMap((event) => reader.read({ name: undefined, data: JSON.stringify(event) }));
  return [...chunks, ...reader.end()];
}

function recorded(name: string): object[] {
  const events: object[] = [];
  const parser = createParser({ onEvent: (event) => events.push(JSON.parse(event.data)) });
  parser.feed(readFileSync(new URL(`./__fixtures__/${name}.sse`, import.meta.url), 'utf8'));
  return events;
}

const event = (type: string, members: object = {}) => ({ type: `response.${type}`, ...members });
const added = (output_index: number, item: object) => event('output_item.added', { output_index, item });
const text = (output_index: number, delta: string) =>
  event('output_text.delta', { output_index, content_index: 0, delta });
const textChunk = (delta: string) => ({ type: 'text', delta });
const completed = event('completed', { response: { status: 'completed', output: [] } });
const call = { type: 'function_call', name: 'f', call_id: 'c1', arguments: '{"a":1}' };
const finish = { type: 'finish', reason: 'stop' };

describe('ResponsesReader on encrypted reasoning', () => {
  const sealed = (id: string) => ({
    type: 'reasoning',
    id,
    summary: [],
    encrypted_content: `secret of ${id}`,
  });
  const done = (output_index: number, item: object) => event('output_item.done', { output_index, item });
  const opaque = (id: string) => ({
    type: 'reasoning_opaque',
    opaque: { origin: 'o', data: JSON.stringify({ encrypted_content: `secret of ${id}`, id }) },
  });

  it('passes it on once, behind the text of its item', () => {
    const whole = { response: { status: 'completed', output: [sealed('rs_1'), sealed('rs_2')] } };
    const events = [
      added(0, { type: 'reasoning', summary: [] }),
      event('reasoning_summary_text.delta', { output_index: 0, summary_index: 0, delta: 'Hm' }),
      done(0, sealed('rs_1')),
      added(1, { type: 'reasoning', summary: [] }),
      done(1, sealed('rs_2')),
      event('completed', whole),
    ];
    expect(readAll(events, false, 'o')).toEqual([
      { type: 'reasoning_summary', delta: 'Hm' },
      opaque('rs_1'),
      { type: 'reasoning' },
      opaque('rs_2'),
      finish,
    ]);
    expect(JSON.stringify(readAll(events))).not.toContain('secret');
  });

  it('leaves out what comes when a later item has begun', () => {
    const events = [added(0, { type: 'reasoning' }), text(1, 'Hi'), done(0, sealed('rs_1')), completed];
    expect(readAll(events, false, 'o')).toEqual([{ type: 'text', delta: 'Hi' }, finish]);
  });
});

describe('ResponsesReader on recorded streams', () => {
  it('reads summaries, a message with its phase and annotation, and a call, each once', () => {
    expect(readAll(recorded('openai-responses-reasoning-and-call'))).toEqual([
      { type: 'reasoning_summary', delta: 'First' },
      { type: 'summary_part' },
      { type: 'reasoning_summary', delta: 'Second' },
      { type: 'message', phase: 'commentary' },
      { type: 'text', delta: 'Looking' },
      { type: 'text', delta: ' it up.' },
      {
        type: 'annotation',
        annotation: {
          type: 'url_citation',
          url: 'https://example.com',
          title: 'Example',
          start_index: 0,
          end_index: 7,
        },
      },
      { type: 'function_call', callKey: '2', callId: 'call_1', name: 'get_weather' },
      { type: 'function_arguments', callKey: '2', delta: '{"city":' },
      { type: 'function_arguments', callKey: '2', delta: '"Oslo"}' },
      { type: 'usage', usage: usageOf(50, 30, { cached: 10, reasoning: 12 }) },
      finish,
    ]);
  });

  it('reads raw reasoning under its other name and an incomplete end', () => {
    expect(
      readAll(recorded('vllm-responses-raw-reasoning')).filter((chunk) => chunk.type !== 'usage'),
    ).toEqual([
      { type: 'reasoning_text', delta: 'Hmm' },
      { type: 'text', delta: 'Oslo is' },
      { type: 'finish', reason: 'max_output_tokens' },
    ]);
  });

  const reasoned = ['Which', ' city?'].map((delta) => ({ type: 'reasoning_text', delta }));

  it.each([
    ['vllm-responses-harmony-closed-late', [...reasoned, ...['Oslo', ' it is.'].map(textChunk)]],
    [
      'vllm-responses-counted-pieces',
      [
        ...['Which', ' city', '?'].map((delta) => ({ type: 'reasoning_text', delta })),
        ...['Oslo', ' it', ' is.'].map(textChunk),
      ],
    ],
    [
      'vllm-responses-harmony',
      [
        ...reasoned,
        ...['Let me', ' look.'].map(textChunk),
        { type: 'function_call', callKey: '2', callId: 'call_a3', name: 'get_weather' },
        { type: 'function_arguments', callKey: '2', delta: '{"city":' },
        { type: 'function_arguments', callKey: '2', delta: '"Oslo"}' },
      ],
    ],
  ])('reads the answer of %s once, however its parts and items are numbered', (name, chunks) => {
    const read = readAll(recorded(name)).filter(({ type }) => type !== 'usage');
    expect(read).toEqual([...chunks, finish]);
  });
});

describe('ResponsesReader', () => {
  it('draws a line between two items of one kind alone', () => {
    const message = { type: 'message', role: 'assistant', content: [] };
    const events = [added(0, message), text(0, 'a'), added(1, message), text(1, 'b'), completed];
    expect(readAll(events)).toEqual([
      { type: 'text', delta: 'a' },
      { type: 'message' },
      { type: 'text', delta: 'b' },
      finish,
    ]);
  });

  it('takes from closing events what was never streamed', () => {
    const message = { type: 'message', content: [{ type: 'output_text', text: 'Hi', annotations: [] }] };
    expect(readAll([event('output_item.done', { output_index: 0, item: message }), completed])[0]).toEqual({
      type: 'text',
      delta: 'Hi',
    });
    const whole = { status: 'completed', output: [message, call, { type: 'web_search_call' }] };
    expect(readAll([event('completed', { response: whole })])).toEqual([
      { type: 'text', delta: 'Hi' },
      { type: 'function_call', callKey: '1', callId: 'c1', name: 'f' },
      { type: 'function_arguments', callKey: '1', delta: '{"a":1}' },
      finish,
    ]);
  });

  it('takes the rest of an item that was streamed in part, and nothing of one that closes with another text', () => {
    const summary = ['First', 'Second'].map((each) => ({ type: 'summary_text', text: each }));
    const closing = (output_index: number, item: object) => event('output_item.done', { output_index, item });
    const events = [
      event('reasoning_summary_text.delta', { output_index: 0, summary_index: 0, delta: 'Fi' }),
      closing(0, { type: 'reasoning', summary }),
      text(1, '\n\nHi'),
      closing(1, { type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }),
      completed,
    ];
    expect(readAll(events)).toEqual([
      { type: 'reasoning_summary', delta: 'Fi' },
      { type: 'reasoning_summary', delta: 'rst' },
      { type: 'summary_part' },
      { type: 'reasoning_summary', delta: 'Second' },
      textChunk('\n\nHi'),
      finish,
    ]);
  });

  it('tells summaries apart whose parts are all open at once', () => {
    const of = (type: string, summary_index: number, members: object) =>
      event(`reasoning_summary_text.${type}`, { output_index: 0, summary_index, ...members });
    const deltas = ['a', 'b'].map((delta, at) => of('delta', at, { delta }));
    const dones = ['a', 'b'].map((each, at) => of('done', at, { text: each }));
    expect(readAll([...deltas, ...dones, of('done', 2, { text: 'c' }), completed])).toEqual([
      { type: 'reasoning_summary', delta: 'a' },
      { type: 'summary_part' },
      { type: 'reasoning_summary', delta: 'b' },
      { type: 'summary_part' },
      { type: 'reasoning_summary', delta: 'c' },
      finish,
    ]);
  });

  it('reads events without a number by the id of their item, or as those of the last one', () => {
    const reasoning = { type: 'reasoning', id: 'rs_1', content: [{ type: 'reasoning_text', text: 'Hm' }] };
    const message = { type: 'message', id: 'msg_1', content: [{ type: 'output_text', text: 'Hi' }] };
    const called = (id: string, args = '{"a":1}') => ({ ...call, call_id: id, arguments: args });
    const openings = [reasoning, message, called('c1', ''), called('c2', '')].map((item) =>
      event('output_item.added', { item }),
    );
    const deltas = [
      event('reasoning_text.delta', { item_id: 'rs_1', delta: 'Hm' }),
      event('output_text.delta', { item_id: 'msg_1', delta: 'Hi' }),
      event('function_call_arguments.delta', { item_id: 'c1', delta: '{"a":1}' }),
      event('function_call_arguments.delta', { delta: '{"a":1}' }),
    ];
    const output = [reasoning, message, called('c1'), called('c2')];
    const done = output.map((item) => event('output_item.done', { item }));
    const whole = event('completed', { response: { output } });
    const opened = (at: number) => ({
      type: 'function_call',
      callKey: `${at}`,
      callId: `c${at - 1}`,
      name: 'f',
    });
    const args = (at: number) => ({ type: 'function_arguments', callKey: `${at}`, delta: '{"a":1}' });
    const chunks = [
      { type: 'reasoning_text', delta: 'Hm' },
      textChunk('Hi'),
      opened(2),
      args(2),
      opened(3),
      args(3),
      finish,
    ];
    const inTurns = openings.flatMap((each, at) => [each, deltas[at] ?? {}, done[at] ?? {}]);
    expect(readAll([...inTurns, whole])).toEqual(chunks);
    expect(readAll([...done, whole])).toEqual(chunks);
    expect(readAll([...deltas.slice(0, 2), whole])).toEqual(chunks);
    const anonymous = ['a', 'b'].map((delta) => event('output_text.delta', { delta }));
    expect(readAll([...anonymous, completed])).toEqual([textChunk('a'), textChunk('b'), finish]);
  });

  it('takes arguments that come whole', () => {
    const done = event('function_call_arguments.done', { output_index: 0, arguments: '{"a":1}' });
    const events = [
      added(0, { ...call, arguments: '' }),
      done,
      event('output_item.done', { output_index: 0, item: call }),
    ];
    expect(
      readAll([...events, completed]).filter((chunk) => chunk.type === 'function_arguments'),
    ).toHaveLength(1);
  });

  it('reads a call of a custom tool, streamed or whole', () => {
    const item = { type: 'custom_tool_call', name: 'shell', call_id: 'c1', input: '' };
    const whole = { ...item, input: 'ls -l' };
    const opened = { type: 'custom_tool_call', callKey: '0', callId: 'c1', name: 'shell' };
    const done = [
      event('custom_tool_call_input.done', { output_index: 0, input: 'ls -l' }),
      event('output_item.done', { output_index: 0, item: whole }),
      completed,
    ];
    const pieces = ['ls', ' -l'].map((delta) =>
      event('custom_tool_call_input.delta', { output_index: 0, delta }),
    );
    expect(readAll([added(0, item), ...pieces, ...done])).toEqual([
      opened,
      { type: 'custom_tool_input', callKey: '0', delta: 'ls' },
      { type: 'custom_tool_input', callKey: '0', delta: ' -l' },
      finish,
    ]);
    expect(readAll([added(0, item), ...done])).toEqual([
      opened,
      { type: 'custom_tool_input', callKey: '0', delta: 'ls -l' },
      finish,
    ]);
    const end = event('completed', { response: { output: [{ ...item, input: undefined }] } });
    expect(readAll([end])).toEqual([opened, finish]);
  });

  it('reads citations of pages on the web, and no other annotations', () => {
    const cited = { url: 'https://example.com/', start_index: 1, end_index: 2, title: 'E' };
    const annotations = [
      { type: 'file_citation', file_id: 'file-1', index: 0 },
      { type: 'url_citation', ...cited, url: 'javascript:alert(1)' },
      { type: 'url_citation', ...cited, novelty: 1 },
      { type: 'url_citation', url: 'http://example.com/', start_index: -1 },
      'url_citation',
    ].map((annotation) => event('output_text.annotation.added', { output_index: 0, annotation }));
    expect(readAll([text(0, 'Hi'), ...annotations, completed]).slice(1, -1)).toEqual([
      { type: 'annotation', annotation: { type: 'url_citation', ...cited } },
      {
        type: 'annotation',
        annotation: {
          type: 'url_citation',
          url: 'http://example.com/',
          start_index: 0,
          end_index: 0,
          title: '',
        },
      },
    ]);
  });

  it('reads logprobs when they were asked for', () => {
    const logprob = { token: 'H', logprob: -1, bytes: [72], top_logprobs: [] };
    const said = { ...text(0, 'H'), logprobs: [logprob] };
    expect(readAll([said, completed], true)[0]).toEqual({ type: 'text', delta: 'H', logprobs: [logprob] });
    const half = { ...text(0, ''), logprobs: [logprob] };
    expect(readAll([half, completed], true)[0]).toEqual({ type: 'text', delta: '', logprobs: [logprob] });
    expect(readAll([said, completed])[0]).toEqual({ type: 'text', delta: 'H' });
  });

  it('reads refusals', () => {
    const refused = event('refusal.delta', { output_index: 0, content_index: 0, delta: 'No' });
    expect(readAll([refused, completed])[0]).toEqual({ type: 'refusal', delta: 'No' });
  });

  it('passes over items and events of other types', () => {
    const events = [
      event('queued', { response: {} }),
      added(0, { type: 'web_search_call' }),
      event('web_search_call.searching', { output_index: 0 }),
      { type: 'acme:trace', anything: true },
      added(1, { type: 'message' }),
      text(1, 'a'),
      completed,
    ];
    expect(readAll(events)).toEqual([{ type: 'text', delta: 'a' }, finish]);
  });

  const broken = { code: 'upstream_error', disposition: 'retry' };
  const tooLong = { code: 'context_length_exceeded', disposition: 'fail' };

  it.each<[string, object[], object]>([
    ['the end without a terminal event', [text(0, 'a')], broken],
    ['an error event, nested', [{ type: 'error', error: { code: 'server_error' } }], broken],
    [
      'an error event, flat',
      [{ type: 'error', code: 'rate_limit_exceeded' }],
      { code: 'server_is_overloaded', disposition: 'retry' },
    ],
    [
      'a failed response',
      [event('failed', { response: { error: { code: 'context_length_exceeded' } } })],
      tooLong,
    ],
    ['a failed response without an error', [event('failed', { response: {} })], broken],
    [
      'a cancelled response',
      [event('incomplete', { response: { incomplete_details: { reason: 'cancelled' } } })],
      broken,
    ],
    ['a terminal event without its response', [event('completed')], broken],
    ['a delta that is no text', [event('output_text.delta', { output_index: 0, delta: 1 })], broken],
    ['a call without a name', [added(0, { type: 'function_call' })], broken],
  ])('fails on %s', (_, events, failure) => {
    expect(() => readAll(events)).toThrowError(expect.objectContaining(failure));
  });
});

describe('what an answer costs', () => {
  it('grows with the number of summary parts, and not with its square', () => {
    const values = Array.from({ length: 48_000 }, (_, summary_index) =>
      event('reasoning_summary_text.delta', { output_index: 0, summary_index, delta: 'a' }),
    );
    const events = values.map((each) => ({ name: undefined, data: JSON.stringify(each) }));
    const read = () => {
      const reader = new ResponsesReader('up', { wantsLogprobs: false });
      return () => events.forEach((each) => reader.read(each));
    };
    expect(costAgainstParsing(values, read)).toBeLessThan(30);
  });
});
