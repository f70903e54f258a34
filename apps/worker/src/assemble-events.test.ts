import { randomBytes } from 'node:crypto';
import {
  cancelled,
  completed,
  newResponseId,
  outputText,
  type OutputItem,
  type UnnumberedEvent,
} from '@sluice/contract';
import type { ProviderChunk } from '@sluice/providers';
import { checkEventGrammar, costAgainstParsing, usageOf } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { wholeStream } from '../test/whole-stream.ts';
import { Assembler, type SealReasoning } from './assemble-events.ts';
import { closeOutput } from './close-output.ts';

interface Assembly {
  assembler: Assembler;
  events: UnnumberedEvent[];
}

const responseId = newResponseId(randomBytes);

const usage = usageOf(1, 2);

function assemble(chunks: ProviderChunk[], { parallelCalls = true } = {}): Assembly {
  const assembler = new Assembler({ responseId, randomBytes, parallelCalls, isFollowed: true });
  return { assembler, events: chunks.flatMap((chunk) => assembler.push(chunk)) };
}

/** Pushes the chunks, closes as a whole answer, and checks what holds for any answer. */
function assembleWhole(chunks: ProviderChunk[], options: { parallelCalls?: boolean } = {}) {
  const { assembler, events } = assemble(chunks, options);
  events.push(...closeOutput(assembler.output, 'completed', { isFollowed: true }));
  expectSound(events, assembler.output.fold.items);
  return { events, types: typesOf(events), output: assembler.output.fold.items };
}

/** The grammar of the wire, and that the events amount to the output. */
function expectSound(events: UnnumberedEvent[], output: OutputItem[]) {
  const isWhole = output.every(({ status }) => status === 'completed');
  const produced = { output, usage };
  const end = isWhole ? completed(produced, 2) : cancelled(produced);
  expect(checkEventGrammar(wholeStream(responseId, events, end))).toEqual([]);
}

function typesOf(events: UnnumberedEvent[]): string[] {
  return events.map(({ type }) => type.replace(/^response\./, ''));
}

const text = (delta: string): ProviderChunk => ({ type: 'text', delta });
const summary = (delta: string): ProviderChunk => ({ type: 'reasoning_summary', delta });
const thought = (delta: string): ProviderChunk => ({ type: 'reasoning_text', delta });
const call = (callKey: string, name = 'look'): ProviderChunk => ({ type: 'function_call', callKey, name });
const args = (callKey: string, delta: string): ProviderChunk => ({
  type: 'function_arguments',
  callKey,
  delta,
});
const finish: ProviderChunk = { type: 'finish', reason: 'stop' };

describe('a whole answer', () => {
  it('opens a message with its first text and closes it at the end', () => {
    const { types, output } = assembleWhole([text('Hel'), text('lo'), finish]);
    expect(types).toEqual([
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
    ]);
    expect(output).toMatchObject([
      {
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hello' }],
      },
    ]);
  });

  it('adds items with their zero values', () => {
    const { events } = assembleWhole([summary('s'), text('t'), call('0'), finish]);
    const added = events.filter((event) => event.type === 'response.output_item.added');
    expect(added.map(({ item }) => item)).toMatchObject([
      { type: 'reasoning', summary: [], status: 'in_progress' },
      { type: 'message', content: [], status: 'in_progress' },
      { type: 'function_call', name: 'look', arguments: '', status: 'in_progress' },
    ]);
    expect(events.find((event) => event.type === 'response.content_part.added')).toMatchObject({
      part: { type: 'output_text', text: '', annotations: [], logprobs: [] },
    });
  });

  it('is empty when the model said nothing', () => {
    expect(assembleWhole([finish])).toMatchObject({ events: [], output: [] });
  });

  it('drops an empty text, which opens nothing', () => {
    expect(assembleWhole([text(''), finish]).events).toEqual([]);
  });

  it('keeps log probabilities of a token without a text of its own', () => {
    const logprobs = [{ token: '\\xf0', logprob: -0.5, bytes: [240], top_logprobs: [] }];
    const { output } = assembleWhole([{ type: 'text', delta: '', logprobs }, text('b'), finish]);
    expect(output).toMatchObject([{ content: [{ text: 'b', logprobs }] }]);
  });

  it('keeps log probabilities in the delta and in the part', () => {
    const logprobs = [{ token: 'a', logprob: -0.5, bytes: [97], top_logprobs: [] }];
    const { events, output } = assembleWhole([{ type: 'text', delta: 'a', logprobs }, text('b'), finish]);
    expect(events.filter((event) => event.type === 'response.output_text.delta')).toMatchObject([
      { delta: 'a', logprobs },
      { delta: 'b', logprobs: [] },
    ]);
    expect(output).toMatchObject([{ content: [{ text: 'ab', logprobs }] }]);
  });

  it('counts the annotations of a part', () => {
    const annotation = {
      type: 'url_citation',
      url: 'https://example.com/',
      title: 'x',
      start_index: 0,
      end_index: 1,
    } as const;
    const annotated: ProviderChunk = { type: 'annotation', annotation };
    const { events, output } = assembleWhole([text('a'), annotated, text('b'), annotated, finish]);
    const added = events.filter((event) => event.type === 'response.output_text.annotation.added');
    expect(added.map(({ annotation_index: index }) => index)).toEqual([0, 1]);
    expect(output).toMatchObject([{ content: [{ text: 'ab', annotations: [annotation, annotation] }] }]);
  });

  it('puts a refusal into a part of its own', () => {
    const { output } = assembleWhole([
      text('Well, '),
      { type: 'refusal', delta: 'I ' },
      { type: 'refusal', delta: 'cannot.' },
      finish,
    ]);
    expect(output).toMatchObject([
      {
        type: 'message',
        content: [
          { type: 'output_text', text: 'Well, ' },
          { type: 'refusal', refusal: 'I cannot.' },
        ],
      },
    ]);
  });

  it('reports usage and the reason to finish', () => {
    const { assembler } = assemble([text('a'), { type: 'usage', usage }, finish]);
    expect(assembler.usage).toEqual(usage);
    expect(assembler.finish).toBe('stop');
  });

  it('has no reason to finish before the model gave one', () => {
    const { assembler } = assemble([text('a')]);
    expect(assembler.finish).toBeUndefined();
    expect(assembler.usage).toBeNull();
  });
});

describe('reasoning', () => {
  it('comes before the message, its summary apart from its content', () => {
    const { types, output } = assembleWhole([
      summary('Think'),
      summary('ing'),
      { type: 'summary_part' },
      summary('More'),
      thought('hm'),
      text('Answer'),
      finish,
    ]);
    expect(types.indexOf('reasoning_text.done')).toBeLessThan(types.indexOf('output_text.delta'));
    expect(output).toMatchObject([
      {
        type: 'reasoning',
        status: 'completed',
        summary: [{ text: 'Thinking' }, { text: 'More' }],
        content: [{ type: 'reasoning_text', text: 'hm' }],
      },
      { type: 'message', content: [{ text: 'Answer' }] },
    ]);
  });

  it('begins another item when a summary follows the content', () => {
    const { output } = assembleWhole([thought('hm'), summary('S'), text('A'), finish]);
    expect(output).toMatchObject([
      { type: 'reasoning', summary: [], content: [{ text: 'hm' }] },
      { type: 'reasoning', summary: [{ text: 'S' }] },
      { type: 'message' },
    ]);
  });

  it('begins another item where the upstream drew a line', () => {
    const { output } = assembleWhole([summary('a'), { type: 'reasoning' }, summary('b'), finish]);
    expect(output).toMatchObject([{ summary: [{ text: 'a' }] }, { summary: [{ text: 'b' }] }]);
  });

  it('numbers summary parts from zero in each item', () => {
    const { events } = assembleWhole([
      summary('a'),
      { type: 'summary_part' },
      summary('b'),
      { type: 'reasoning' },
      summary('c'),
      finish,
    ]);
    const deltas = events.filter((event) => event.type === 'response.reasoning_summary_text.delta');
    expect(deltas.map((delta) => [delta.output_index, delta.summary_index])).toEqual([
      [0, 0],
      [0, 1],
      [1, 0],
    ]);
  });

  it('resumes after text in an item of its own', () => {
    const { output } = assembleWhole([thought('a'), text('b'), thought('c'), text('d'), finish]);
    expect(output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'reasoning', 'message']);
  });

  it('ignores a part border outside of reasoning', () => {
    expect(assembleWhole([{ type: 'summary_part' }, text('a'), finish]).output).toHaveLength(1);
  });
});

describe('messages', () => {
  it('keep the phase the upstream gave them', () => {
    const { output } = assembleWhole([
      { type: 'message', phase: 'commentary' },
      text('Let me see.'),
      { type: 'message', phase: 'final_answer' },
      text('Yes.'),
      finish,
    ]);
    expect(output).toMatchObject([{ phase: 'commentary' }, { phase: 'final_answer' }]);
  });

  it('are joined over items by the text of the whole output', () => {
    const { output } = assembleWhole([text('a'), { type: 'message' }, text('b'), finish]);
    expect(output).toHaveLength(2);
    expect(outputText(output)).toBe('ab');
  });
});

describe('calls of custom tools', () => {
  it('have an input in place of arguments', () => {
    const { types, output } = assembleWhole([
      { type: 'custom_tool_call', callKey: '0', callId: 'call_9', name: 'shell' },
      { type: 'custom_tool_input', callKey: '0', delta: 'ls' },
      { type: 'custom_tool_input', callKey: '0', delta: ' -l' },
      { type: 'finish', reason: 'function_call' },
    ]);
    expect(types).toEqual([
      'output_item.added',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
      'output_item.done',
    ]);
    expect(output).toEqual([
      {
        type: 'custom_tool_call',
        id: expect.stringMatching(/^ctc_/),
        call_id: 'call_9',
        name: 'shell',
        input: 'ls -l',
        status: 'completed',
      },
    ]);
  });
});

describe('function calls', () => {
  it('close the message before them', () => {
    const { types, output } = assembleWhole([text('Wait.'), call('0'), args('0', '{"a":'), args('0', '1}')]);
    expect(types.indexOf('output_item.done')).toBeLessThan(types.lastIndexOf('output_item.added'));
    expect(output).toMatchObject([
      { type: 'message' },
      { type: 'function_call', name: 'look', arguments: '{"a":1}', status: 'completed' },
    ]);
  });

  it('keep apart the interleaved arguments of parallel calls', () => {
    const { events, output } = assembleWhole([
      call('a', 'first'),
      call('b', 'second'),
      args('b', '{"b"'),
      args('a', '{"a"'),
      args('b', ':2}'),
      args('a', ':1}'),
      { type: 'finish', reason: 'function_call' },
    ]);
    expect(output).toMatchObject([
      { name: 'first', arguments: '{"a":1}' },
      { name: 'second', arguments: '{"b":2}' },
    ]);
    const done = events.filter((event) => event.type === 'response.function_call_arguments.done');
    expect(done).toMatchObject([
      { name: 'first', arguments: '{"a":1}' },
      { name: 'second', arguments: '{"b":2}' },
    ]);
  });

  it('stay open while text follows, which gets an item behind them', () => {
    const { output } = assembleWhole([call('0'), args('0', '{'), text('And'), args('0', '}'), text(' more')]);
    expect(output).toMatchObject([
      { type: 'function_call', arguments: '{}' },
      { type: 'message', content: [{ text: 'And more' }] },
    ]);
  });

  it('have the id of the upstream, or one of ours', () => {
    const { output } = assembleWhole([
      { type: 'function_call', callKey: '0', callId: 'call_upstream', name: 'a' },
      call('1'),
    ]);
    expect(output).toMatchObject([
      { call_id: 'call_upstream' },
      { call_id: expect.stringMatching(/^call_[A-Za-z0-9]{24}$/) },
    ]);
  });

  it('are told apart by key even when the upstream gives two one id', () => {
    const same = { type: 'function_call', callId: 'call_1', name: 'a' } as const;
    const { output } = assembleWhole([{ ...same, callKey: '0' }, { ...same, callKey: '1' }, args('1', '{}')]);
    expect(output).toMatchObject([{ arguments: '' }, { arguments: '{}' }]);
    expect(output[0]?.id).not.toBe(output[1]?.id);
  });

  it('are cut to the first when the request allows no parallel ones', () => {
    const { events, output } = assembleWhole(
      [call('a', 'first'), call('b', 'second'), args('b', '{"b":2}'), args('a', '{}'), text('!')],
      { parallelCalls: false },
    );
    expect(output).toMatchObject([{ name: 'first', arguments: '{}' }, { type: 'message' }]);
    expect(JSON.stringify(events)).not.toContain('second');
  });

  it('get nothing from arguments of a call that was never opened', () => {
    expect(assembleWhole([args('nobody', '{}'), finish]).events).toEqual([]);
  });
});

describe('an answer that stops at a limit', () => {
  it.each([
    ['last item', [summary('s'), text('cut o')]],
    ['last of several open calls', [call('a'), args('a', '{}'), call('b'), args('b', '{"x')]],
  ])('leaves its %s incomplete', (_, chunks) => {
    const { assembler, events } = assemble(chunks);
    events.push(...closeOutput(assembler.output, 'incomplete', { isFollowed: true }));
    expectSound(events, assembler.output.fold.items);
    expect(assembler.output.fold.items.map(({ status }) => status)).toEqual(['completed', 'incomplete']);
  });
});

describe('an answer that breaks off', () => {
  const chunks: ProviderChunk[] = [
    summary('a'),
    { type: 'summary_part' },
    summary('b'),
    thought('c'),
    text('d'),
    { type: 'refusal', delta: 'e' },
    call('0', 'one'),
    args('0', '{"f"'),
    call('1', 'two'),
    args('1', '{"g"'),
    args('0', ':1}'),
    text('h'),
    { type: 'message' },
    text('i'),
    { type: 'reasoning' },
    thought('j'),
    summary('k'),
  ];

  it('closes what is open as incomplete, wherever it breaks', () => {
    for (let cut = 0; cut <= chunks.length; cut += 1) {
      const { assembler, events } = assemble(chunks.slice(0, cut));
      const open = openIndexes(events);
      events.push(...closeOutput(assembler.output, 'failed', { isFollowed: true }));
      const output = assembler.output.fold.items;
      expectSound(events, output);
      expect(openIndexes(events)).toEqual([]);
      for (const index of open) expect(output[index]?.status).toBe('incomplete');
    }
  });

  it('closes to a whole answer just as well, wherever it ends', () => {
    for (let cut = 0; cut <= chunks.length; cut += 1) {
      const { output } = assembleWhole(chunks.slice(0, cut));
      expect(output.every(({ status }) => status === 'completed')).toBe(true);
    }
  });

  it('has nothing left to close a second time', () => {
    const { assembler } = assemble(chunks);
    closeOutput(assembler.output, 'failed', { isFollowed: true });
    expect(closeOutput(assembler.output, 'failed', { isFollowed: true })).toEqual([]);
    expect(closeOutput(assembler.output, 'completed', { isFollowed: true })).toEqual([]);
  });
});

function openIndexes(events: UnnumberedEvent[]): number[] {
  const open = new Set<number>();
  for (const event of events) {
    if (event.type === 'response.output_item.added') open.add(event.output_index);
    if (event.type === 'response.output_item.done') open.delete(event.output_index);
  }
  return [...open];
}

describe('what an answer costs', () => {
  it.each<[string, (at: number) => ProviderChunk[]]>([
    ['calls', (at) => [call(String(at))]],
    ['parts of a message', (at) => [at % 2 === 0 ? text('a') : { type: 'refusal', delta: 'b' }]],
    ['parts of a summary', () => [summary('a'), { type: 'summary_part' }]],
    ['messages', () => [text('a'), { type: 'message' }]],
    ['deltas of a text', () => [text('a')]],
    [
      'annotations of a text',
      () => [{ type: 'annotation', annotation: { type: 'url_citation', url: 'https://example.com' } }],
    ],
    [
      'logprobs of a text',
      () => [{ ...text('a'), logprobs: [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }] }],
    ],
  ])('grows with the number of %s, and not with its square', (_, chunksOf) => {
    const chunks = Array.from({ length: 8_000 }, (_value, at) => chunksOf(at)).flat();
    const assembleAll = () => () => {
      const { assembler } = assemble(chunks);
      closeOutput(assembler.output, 'completed', { isFollowed: true });
    };
    // Each of them leads to several events, so this costs more than parsing.
    expect(costAgainstParsing(chunks, assembleAll)).toBeLessThan(200);
  });
});

describe('reasoning that the client can send back', () => {
  const opaque = { origin: 'kind:up', data: 'theirs' };
  const sealReasoning: SealReasoning = (reasoning) => JSON.stringify(reasoning);
  const stop: ProviderChunk = { type: 'finish', reason: 'stop' };

  function assembleSealed(
    chunks: ProviderChunk[],
    options: { isFollowed?: boolean; seal?: SealReasoning } = {},
  ) {
    const { isFollowed = true, seal = sealReasoning } = options;
    const sealing = { parallelCalls: true, isFollowed, sealReasoning: seal };
    const assembler = new Assembler({ responseId, randomBytes, ...sealing });
    const events = chunks.flatMap((chunk) => assembler.push(chunk));
    events.push(...closeOutput(assembler.output, 'completed', { isFollowed }));
    return { events, items: assembler.output.fold.items };
  }

  it('carries the sealed text and what the upstream wants back, from its end on', () => {
    const chunks = [thought('Let'), thought(' me.'), { type: 'reasoning_opaque', opaque }, text('Hi'), stop];
    const { events, items } = assembleSealed(chunks as ProviderChunk[]);
    expectSound(events, items);
    const encrypted_content = JSON.stringify({ text: 'Let me.', opaque });
    expect(items[0]).toMatchObject({ type: 'reasoning', encrypted_content });
    const ofItems = events.filter(({ type }) => type.startsWith('response.output_item.'));
    expect(ofItems[0]).not.toHaveProperty('item.encrypted_content');
    expect(ofItems[1]).toMatchObject({ item: { type: 'reasoning', encrypted_content } });
    expect(assembleSealed(chunks as ProviderChunk[], { isFollowed: false }).items[0]).toMatchObject({
      encrypted_content,
    });
  });

  it('is an item also where the upstream shows nothing of it', () => {
    const { events, items } = assembleSealed([
      { type: 'reasoning_opaque', opaque },
      { type: 'reasoning' },
      { type: 'reasoning_opaque', opaque: { ...opaque, data: 'second' } },
      text('Hi'),
      stop,
    ]);
    expectSound(events, items);
    expect(items.map((item) => ('encrypted_content' in item ? item.encrypted_content : item.type))).toEqual([
      JSON.stringify({ text: '', opaque }),
      JSON.stringify({ text: '', opaque: { ...opaque, data: 'second' } }),
      'message',
    ]);
  });

  it('is sealed when it is the last of an answer, and not when it was cut off', () => {
    const summarized = assembleSealed([summary('Hm'), stop]);
    expectSound(summarized.events, summarized.items);
    expect(summarized.items[0]).toHaveProperty('encrypted_content');
    const cut = assembleSealed([thought('Hm'), { type: 'finish', reason: 'max_output_tokens' }]);
    expect(cut.items[0]).not.toHaveProperty('encrypted_content');
  });

  it('is left out where it is too long to be taken back', () => {
    const { items } = assembleSealed([thought('Hm'), stop], { seal: () => undefined });
    expect(items[0]).not.toHaveProperty('encrypted_content');
  });
});
