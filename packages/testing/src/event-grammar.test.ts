import {
  cancelled,
  closeAll,
  completed,
  type ContentEvent,
  deriveEvents,
  emptyOutput,
  eventTypeOf,
  failed,
  failureBody,
  track,
  trackAll,
  incomplete,
  nothingProduced,
  type OutputItem,
  type ResponseEnd,
  responseFor,
  type UnnumberedEvent,
  withEnd,
} from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { usageOf } from './answers.ts';
import { checkEventGrammar } from './event-grammar.ts';

const usage = usageOf(3, 4);

/** Builds the content of a log; `open` leaves the item without its `done`. */
function builder() {
  const output = emptyOutput();
  const events: UnnumberedEvent[] = [];
  const say = (event: UnnumberedEvent) => {
    track(output, event);
    events.push(event);
  };
  const done = (index: number) => {
    const item = output.fold.items[index];
    if (!item) throw new Error('no such item');
    say({
      type: 'response.output_item.done',
      output_index: index,
      item: { ...structuredClone(item), status: 'completed' },
    });
  };
  const add = (item: OutputItem) => {
    const index = output.fold.items.length;
    say({ type: 'response.output_item.added', output_index: index, item });
    return { item_id: item.id, output_index: index };
  };
  return {
    events,
    items: output.fold.items,
    message(texts: string[]) {
      const at = add({
        type: 'message',
        id: `msg_${events.length}`,
        status: 'in_progress',
        role: 'assistant',
        content: [],
      });
      texts.forEach((text, content_index) => {
        const here = { ...at, content_index };
        const part = { type: 'output_text', text: '', annotations: [], logprobs: [] } as const;
        say({
          type: 'response.content_part.added',
          ...here,
          part: structuredClone({ ...part, annotations: [], logprobs: [] }),
        });
        const logprob = { token: text, logprob: -1, bytes: [1], top_logprobs: [] };
        say({ type: 'response.output_text.delta', ...here, delta: text, logprobs: [logprob] });
        const annotation = { type: 'url_citation', url: 'https://example.com/' };
        say({ type: 'response.output_text.annotation.added', ...here, annotation_index: 0, annotation });
        say({ type: 'response.output_text.delta', ...here, delta: '!', logprobs: [] });
        say({ type: 'response.output_text.done', ...here, text: `${text}!`, logprobs: [logprob] });
        say({
          type: 'response.content_part.done',
          ...here,
          part: { type: 'output_text', text: `${text}!`, annotations: [annotation], logprobs: [logprob] },
        });
      });
      done(at.output_index);
    },
    refusal(text: string) {
      const at = add({
        type: 'message',
        id: `msg_${events.length}`,
        status: 'in_progress',
        role: 'assistant',
        content: [],
      });
      const here = { ...at, content_index: 0 };
      say({ type: 'response.content_part.added', ...here, part: { type: 'refusal', refusal: '' } });
      say({ type: 'response.refusal.delta', ...here, delta: text });
      say({ type: 'response.refusal.done', ...here, refusal: text });
      say({ type: 'response.content_part.done', ...here, part: { type: 'refusal', refusal: text } });
      done(at.output_index);
    },
    reasoning(summaries: string[], contents: string[]) {
      const at = add({ type: 'reasoning', id: `rs_${events.length}`, status: 'in_progress', summary: [] });
      summaries.forEach((text, summary_index) => {
        const here = { ...at, summary_index };
        say({
          type: 'response.reasoning_summary_part.added',
          ...here,
          part: { type: 'summary_text', text: '' },
        });
        say({ type: 'response.reasoning_summary_text.delta', ...here, delta: text });
        say({ type: 'response.reasoning_summary_text.done', ...here, text });
        say({ type: 'response.reasoning_summary_part.done', ...here, part: { type: 'summary_text', text } });
      });
      contents.forEach((text, content_index) => {
        const here = { ...at, content_index };
        say({ type: 'response.content_part.added', ...here, part: { type: 'reasoning_text', text: '' } });
        say({ type: 'response.reasoning_text.delta', ...here, delta: text });
        say({ type: 'response.reasoning_text.done', ...here, text });
        say({ type: 'response.content_part.done', ...here, part: { type: 'reasoning_text', text } });
      });
      done(at.output_index);
    },
    /** Calls whose arguments arrive in turns. */
    calls(names: string[]) {
      const places = names.map((name) =>
        add({
          type: 'function_call',
          id: `fc_${name}`,
          call_id: `call_${name}`,
          name,
          arguments: '',
          status: 'in_progress',
        }),
      );
      for (const delta of ['{"a"', ':1}']) {
        for (const at of places) say({ type: 'response.function_call_arguments.delta', ...at, delta });
      }
      places.forEach((at, index) => {
        say({
          type: 'response.function_call_arguments.done',
          ...at,
          name: names[index] ?? '',
          arguments: '{"a":1}',
        });
        done(at.output_index);
      });
    },
  };
}

const accepted = {
  object: 'response',
  ...responseFor(
    { model: 'simulator', stream: true },
    { id: 'create-response_abcdefghijklmnopqrstuvwxyz', createdAt: 1_700_000_000, serviceTier: 'default' },
  ),
};

type Event = Record<string, unknown>;

/** A whole stream as a client gets it. */
function stream(content: readonly UnnumberedEvent[], end: ResponseEnd, isRunning = true): Event[] {
  const response = { ...accepted, ...withEnd(accepted, end), object: 'response' };
  const events: Event[] = [
    { type: 'response.created', response: accepted },
    { type: 'response.queued', response: accepted },
    ...(isRunning
      ? [{ type: 'response.in_progress', response: { ...accepted, status: 'in_progress' } }]
      : []),
    ...content,
    { type: eventTypeOf(end.status), response },
  ];
  return events.map((event, sequence_number) => structuredClone({ ...event, sequence_number }));
}

function wholeAnswer() {
  const log = builder();
  log.reasoning(['one', 'two'], ['raw']);
  log.message(['Hello', 'there']);
  log.refusal('no');
  log.calls(['first', 'second']);
  return log;
}

function goodStream(): Event[] {
  const { events, items } = wholeAnswer();
  return stream(events, completed({ output: items, usage }, 1_700_000_001));
}

describe('event grammar', () => {
  it('accepts a stream with every kind of item', () => {
    expect(checkEventGrammar(goodStream())).toEqual([]);
  });

  it('accepts an answer without output', () => {
    expect(checkEventGrammar(stream([], completed({ output: [], usage }, 1_700_000_001)))).toEqual([]);
  });

  it('accepts ends of a response that was never run', () => {
    expect(checkEventGrammar(stream([], cancelled(nothingProduced), false))).toEqual([]);
    expect(checkEventGrammar(stream([], failed(nothingProduced, failureBody('timeout')), false))).toEqual([]);
  });

  it("accepts the specification's names of raw reasoning, and padding", () => {
    const events = goodStream().map((event) => ({
      ...event,
      type: String(event['type']).replace('reasoning_text.', 'reasoning.'),
      ...(String(event['type']).endsWith('.delta') && { obfuscation: 'xyz' }),
    }));
    expect(checkEventGrammar(events)).toEqual([]);
  });

  it('accepts the events that are derived from a stored answer', () => {
    const { items: output } = wholeAnswer();
    const derived = [...deriveEvents({ output, error: null })];
    expect(checkEventGrammar(stream(derived, completed({ output, usage }, 1_700_000_001)))).toEqual([]);
    const error = failureBody('timeout');
    const end = failed({ output, usage: null }, error);
    expect(checkEventGrammar(stream([...deriveEvents({ output, error })], end))).toEqual([]);
  });

  it('accepts a partial answer that was cut by a limit', () => {
    const { events } = wholeAnswer();
    const output = trackAll(events.slice(0, 14).map(numbered));
    const closing = closeAll(output);
    for (const event of closing) track(output, event);
    const end = incomplete({ output: output.fold.items, usage }, 'max_output_tokens');
    expect(checkEventGrammar(stream([...events.slice(0, 14), ...closing], end))).toEqual([]);
  });
});

function numbered(event: UnnumberedEvent): ContentEvent {
  return { ...event, sequence_number: 0 };
}

describe('closing what was cut off', () => {
  const logs = {
    message: (log: ReturnType<typeof builder>) => log.message(['Hello', 'there']),
    refusal: (log: ReturnType<typeof builder>) => log.refusal('no'),
    summary: (log: ReturnType<typeof builder>) => log.reasoning(['one', 'two'], []),
    'raw reasoning': (log: ReturnType<typeof builder>) => log.reasoning([], ['raw', 'more']),
    'summary and raw reasoning': (log: ReturnType<typeof builder>) => log.reasoning(['one'], ['raw']),
    'parallel calls': (log: ReturnType<typeof builder>) => log.calls(['a', 'b', 'c']),
    everything: (log: ReturnType<typeof builder>) => {
      log.reasoning(['one'], ['raw']);
      log.message(['Hello']);
      log.calls(['a', 'b']);
    },
  };

  it.each(Object.entries(logs))('makes a good stream of every prefix of a log with %s', (_name, build) => {
    const log = builder();
    build(log);
    for (let cut = 0; cut <= log.events.length; cut += 1) {
      const prefix = log.events.slice(0, cut);
      const output = trackAll(prefix.map(numbered));
      const closing = closeAll(output);
      for (const event of closing) track(output, event);
      const error = failureBody('server_error');
      const { type, ...flat } = error;
      const events = [...prefix, ...closing, { type: 'error', ...flat, error: { type, ...flat } } as const];
      expect(
        checkEventGrammar(stream(events, failed({ output: output.fold.items, usage: null }, error))),
      ).toEqual([]);
      expect(
        checkEventGrammar(
          stream([...prefix, ...closing], cancelled({ output: output.fold.items, usage: null })),
        ),
      ).toEqual([]);
      expect(closeAll(output)).toEqual([]);
    }
  });
});

type Change = (events: Event[]) => Event[] | undefined;

/** The index of the n-th event of a type, which is named without its `response.` here and below. */
function find(events: Event[], type: string, nth = 0): number {
  const places = events.flatMap((event, at) => (event['type'] === `response.${type}` ? [at] : []));
  const place = places[nth];
  if (place === undefined) throw new Error(`no ${type} in the stream`);
  return place;
}

function eventAt(events: Event[], type: string, nth = 0): Event {
  return events[find(events, type, nth)] ?? {};
}

/** Changes one member of an event, by its path. */
function set(type: string, path: string, value: unknown, nth = 0): Change {
  return (events) => {
    const names = path.split('.');
    const last = names.pop() ?? '';
    let target: unknown = eventAt(events, type, nth);
    for (const name of names) target = (target as Event)[name]; // A path of the test's own events.
    if (value === undefined) delete (target as Event)[last];
    else (target as Event)[last] = value;
    return undefined;
  };
}

function drop(type: string, nth = 0): Change {
  return (events) => renumbered(events.toSpliced(find(events, type, nth), 1));
}

function repeat(type: string, nth = 0): Change {
  return (events) => renumbered(events.toSpliced(find(events, type, nth), 0, eventAt(events, type, nth)));
}

/** Moves an event in front of another. */
function move(type: string, nth: number, before: string, beforeNth: number): Change {
  return (events) => {
    const event = eventAt(events, type, nth);
    const rest = events.toSpliced(find(events, type, nth), 1);
    return renumbered(rest.toSpliced(find(rest, before, beforeNth), 0, event));
  };
}

function renumbered(events: Event[]): Event[] {
  return events.map((event, sequence_number) => ({ ...event, sequence_number }));
}

const nestedError = { type: 'server_error', code: 'server_error', message: 'no', param: null };
const error = { type: 'error', code: 'server_error', message: 'no', param: null, error: nestedError };

const violations: [rule: string, change: Change, violation: string][] = [
  ['a gap in the numbers', (events) => events.toSpliced(5, 1), 'sequence_number is 6, expected 5'],
  [
    'a repeated number',
    (events) => events.toSpliced(5, 0, events[5] ?? {}),
    'sequence_number is 5, expected 6',
  ],
  ['a number that is no number', set('queued', 'sequence_number', '1'), 'expected 1'],
  ['an event that is no object', (events) => [...events, 'x' as unknown as Event], 'it is not an object'],
  ['an unknown event', set('refusal.delta', 'type', 'response.other'), 'Unknown event type'],
  ['an event without a member', set('output_text.delta', 'item_id', undefined), 'item_id'],
  ['a delta that is null', set('output_text.delta', 'delta', null), 'delta'],
  ['no response.created', drop('created'), 'expected response.created here'],
  ['no response.queued', drop('queued'), 'expected response.queued here'],
  ['no response.in_progress before output', drop('in_progress'), 'output stands behind response.in_progress'],
  ['a second response.in_progress', repeat('in_progress'), 'expected no such event here'],
  ['two terminal events', repeat('completed'), 'nothing follows a terminal event'],
  ['no terminal event', drop('completed'), 'the stream has no terminal event'],
  ['output behind the end', move('completed', 0, 'output_item.added', 4), 'nothing follows'],
  ['a truthy error in another event', set('queued', 'error', { code: 'x' }), 'a member named error'],
  [
    'an error that the end ignores',
    (events) => renumbered(events.toSpliced(-1, 0, error)),
    'only response.failed follows an error',
  ],
  [
    'an item index that skips',
    set('output_item.added', 'output_index', 7, 1),
    'output_index is 7, expected 1',
  ],
  ['an item that was never added', drop('output_item.added', 4), 'no output item was added at index 4'],
  ['an item that is never done', drop('output_item.done', 3), 'output item 3 was never done'],
  ['an item that is done twice', repeat('output_item.done', 1), 'output item 1 is done already'],
  ['an item id used twice', set('output_item.added', 'item.id', 'fc_first', 4), 'was used before'],
  ['an item id of another kind', set('output_item.added', 'item.id', 'msg_x', 3), 'prefix'],
  [
    'an added item that is completed',
    set('output_item.added', 'item.status', 'completed'),
    'an added item is in_progress',
  ],
  [
    'an added item that is not empty',
    set('output_item.added', 'item.arguments', '{', 3),
    'an added item is empty',
  ],
  [
    'a done item still in progress',
    set('output_item.done', 'item.status', 'in_progress'),
    'a done item is completed or incomplete',
  ],
  [
    'another id in done',
    set('output_item.done', 'item.id', 'rs_other'),
    'the done item is not what was streamed',
  ],
  [
    'another call id in done',
    set('output_item.done', 'item.call_id', 'call_x', 3),
    'the done item is not what was streamed',
  ],
  ['a null where a key is omitted', set('output_item.done', 'item.phase', null, 1), 'phase'],
  ['another item id in a delta', set('output_text.delta', 'item_id', 'msg_other'), 'item_id is msg_other'],
  ['another item index in a delta', set('refusal.delta', 'output_index', 1), 'output item 1 is done already'],
  [
    'another part index in a delta',
    set('output_text.delta', 'content_index', 1),
    "the part's index is 1, expected 0",
  ],
  [
    'a part index that skips',
    set('content_part.added', 'content_index', 3, 2),
    "the part's index is 3, expected 1",
  ],
  [
    'a summary index that skips',
    set('reasoning_summary_part.added', 'summary_index', 3, 1),
    "the part's index is 3, expected 1",
  ],
  ['an added part that is not empty', set('content_part.added', 'part.text', 'x'), 'an added part is empty'],
  [
    'a part of another kind of item',
    set('content_part.added', 'part', { type: 'refusal', refusal: '' }),
    'a reasoning has no part of type refusal',
  ],
  ['a part that was never added', drop('content_part.added', 1), 'no output_text part is open'],
  ['a part that is never done', drop('content_part.done', 2), 'a part of the item was never done'],
  ['two parts open at once', drop('content_part.done', 1), 'another part of the item is open'],
  ['a part whose text is never done', drop('output_text.done'), 'the text of the part was never done'],
  ['a delta behind the text', move('output_text.done', 0, 'output_text.delta', 1), 'done already'],
  [
    'a text that is not its deltas',
    set('output_text.done', 'text', 'other'),
    'the text is not what its deltas amount to',
  ],
  [
    'a refusal that is not its deltas',
    set('refusal.done', 'refusal', 'x'),
    'the text is not what its deltas amount to',
  ],
  [
    'a part that is not what was streamed',
    set('content_part.done', 'part.annotations', [], 1),
    'the done part is not what was streamed',
  ],
  [
    'an annotation index that skips',
    set('output_text.annotation.added', 'annotation_index', 2),
    'annotation_index is 2, expected 0',
  ],
  [
    'arguments that are not their deltas',
    set('function_call_arguments.done', 'arguments', '{}'),
    'the arguments are not what their deltas amount to',
  ],
  ['arguments under another name', set('function_call_arguments.done', 'name', 'third'), 'the name is third'],
  ['arguments that are never done', drop('function_call_arguments.done'), 'the arguments were never done'],
  [
    'arguments behind their end',
    move('function_call_arguments.done', 0, 'function_call_arguments.delta', 2),
    'the arguments are done already',
  ],
  [
    'an output that was not streamed',
    set('completed', 'response.output', []),
    'the output is not what was streamed',
  ],
  [
    'another output text',
    set('completed', 'response.output_text', 'x'),
    'response.output_text is not the text',
  ],
  [
    'a status of another event',
    set('completed', 'response.status', 'incomplete'),
    'response.completed_at must not be set',
  ],
  ['an event of another status', set('completed', 'type', 'response.failed'), 'the status is completed'],
  [
    'a running response in response.queued',
    set('queued', 'response.status', 'in_progress'),
    'the status is in_progress',
  ],
  [
    'a completed response without usage',
    set('completed', 'response.usage', null),
    'response.usage must be set',
  ],
  [
    'a partial usage',
    set('completed', 'response.usage.total_tokens', undefined),
    'response.usage may not be',
  ],
  ['a wrong total of usage', set('completed', 'response.usage.total_tokens', 8), 'response.usage may not be'],
  ['usage before the end', set('in_progress', 'response.usage', usage), 'response.usage must not be set'],
  [
    'output before the end',
    set('in_progress', 'response.output', [
      { type: 'message', id: 'msg_x', status: 'completed', role: 'assistant', content: [] },
    ]),
    'response.output must be empty',
  ],
  ['a response without a member', set('created', 'response.top_p', undefined), 'response.top_p is missing'],
  ['a member that may not be null', set('created', 'response.tools', null), 'response.tools may not be null'],
  ['a member that no response has', set('created', 'response.extra', 1), 'response.extra is not a member'],
  [
    'another id in the end',
    set('completed', 'response.id', 'create-response_zyxwvutsrqponmlkjihgfedcba'),
    'response.id differs',
  ],
  [
    'another dialect in the end',
    set('completed', 'response.object', 'create_response'),
    'response.object differs',
  ],
  [
    'an incomplete item in a whole answer',
    (events) => {
      set('output_item.done', 'item.status', 'incomplete', 4)(events);
      return set('completed', 'response.output.4.status', 'incomplete')(events);
    },
    'output item 4 of a completed response is incomplete',
  ],
];

describe('event grammar, broken', () => {
  it.each(violations)('catches %s', (_rule, change, violation) => {
    const events = goodStream();
    expect(checkEventGrammar(change(events) ?? events).join('\n')).toContain(violation);
  });

  it('catches an incomplete item that is not the last', () => {
    const { events, items } = wholeAnswer();
    const end = incomplete({ output: items, usage }, 'max_output_tokens');
    const broken = stream(events, end);
    set('output_item.done', 'item.status', 'incomplete', 1)(broken);
    set('incomplete', 'response.output.1.status', 'incomplete')(broken);
    expect(checkEventGrammar(broken)).toEqual([
      expect.stringContaining('output item 1 is incomplete, and not the last'),
    ]);
  });

  it('catches a summary behind the content of a reasoning', () => {
    const { events } = wholeAnswer();
    const at = { item_id: 'rs_0', output_index: 0, summary_index: 2 };
    const late = {
      type: 'response.reasoning_summary_part.added',
      ...at,
      part: { type: 'summary_text', text: '' },
    } as const;
    const cut = events.findIndex((event) => event.type === 'response.output_item.done');
    const found = checkEventGrammar(
      stream(events.toSpliced(cut, 0, late), completed({ output: [], usage }, 1)),
    );
    expect(found.join('\n')).toContain('a summary stands before the content');
  });

  it('catches ends that do not follow from queued', () => {
    const ended = stream([], completed({ output: [], usage }, 1_700_000_001), false);
    expect(checkEventGrammar(ended)).toEqual([expect.stringContaining('completed does not follow queued')]);
  });

  it('catches an error event whose forms differ, or that differs from the end', () => {
    const end = failed(nothingProduced, failureBody('timeout'));
    const { type, ...flat } = failureBody('timeout');
    const differing = { type: 'error', ...flat, error: { type, ...flat, code: 'server_error' } } as const;
    const found = checkEventGrammar(stream([differing], end)).join('\n');
    expect(found).toContain('the flat and the nested form differ');
    expect(found).toContain('the error differs from the error event');
  });

  it('catches what contradicts the status of a failed or cancelled response', () => {
    const broken = stream([], failed(nothingProduced, failureBody('timeout')), false);
    set('failed', 'response.error', null)(broken);
    expect(checkEventGrammar(broken).join('\n')).toContain('response.error must be set');
    const cut = stream([], cancelled(nothingProduced), false);
    set('incomplete', 'response.incomplete_details', { reason: 'content_filter' })(cut);
    expect(checkEventGrammar(cut).join('\n')).toContain('response.incomplete_details may not be');
  });
});
