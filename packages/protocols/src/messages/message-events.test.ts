import {
  completed,
  deriveEvents,
  failureBody,
  type OutputItem,
  type Response,
  ServiceError,
  withEnd,
} from '@sluice/contract';
import { acceptedResponse, completedResponse, costAgainstParsing, usageOf } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import {
  type MessageBody,
  messageFrameSchema,
  messageJson,
  messageSchema,
  type ObjectOf,
} from './message.ts';
import { type GivenEvent, MessageEvents } from './message-events.ts';
import { messageErrorOf } from './message-params.ts';
import type { MessageDelivery } from './message-request.ts';

const usage = usageOf(9, 7, { cached: 2, cacheWrite: 3, reasoning: 3 });

function said(...texts: string[]): OutputItem {
  const content = texts.map((text) => ({
    type: 'output_text' as const,
    text,
    annotations: [],
    logprobs: [],
  }));
  return { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content };
}

function refused(refusal: string): OutputItem {
  const content = [{ type: 'refusal' as const, refusal }];
  return { type: 'message', id: 'msg_2', status: 'completed', role: 'assistant', content };
}

function reasoned(summary: string[], texts: string[], sealed?: string): OutputItem {
  return {
    type: 'reasoning',
    id: 'rs_1',
    summary: summary.map((text) => ({ type: 'summary_text', text })),
    content: texts.map((text) => ({ type: 'reasoning_text', text })),
    ...(sealed !== undefined && { encrypted_content: sealed }),
  };
}

function called(callId: string, args = '{"a":"b"}'): OutputItem {
  const call = { id: `fc_${callId}`, status: 'completed', call_id: callId, name: 'look' } as const;
  return { type: 'function_call', ...call, arguments: args };
}

const ended = (output: OutputItem[]) => completedResponse(output, usage);

const shown: MessageDelivery = { thinking: 'summarized' };

/** The whole message, as its caller parses it. */
function messageOf(response: Response, delivery: MessageDelivery, objectOf?: ObjectOf): MessageBody {
  return JSON.parse(messageJson(response, delivery, objectOf)) as MessageBody;
}

/** Events as a stream is given them, with the long texts of each one. */
type Event = { type: string; texts?: Record<string, string> };

const given = ({ texts, ...event }: Event): GivenEvent<Record<string, string>> => ({
  type: event.type,
  json: JSON.stringify(event),
  texts,
});

/** The frames of events, as a stream has them, with their long texts; each is of the form that is described. */
function framesOf(events: Event[], delivery = shown): Record<string, unknown>[] {
  const message = new MessageEvents<Record<string, string>>(delivery, 'req_1');
  return events
    .flatMap((event) => message.of(given(event)))
    .map(({ frame: hollow, texts = {} }) => {
      const json = JSON.stringify(hollow).replaceAll(/<\w+>/g, (mark) => {
        return JSON.stringify(texts[mark] ?? mark).slice(1, -1);
      });
      const frame = JSON.parse(json) as typeof hollow;
      expect(messageFrameSchema.parse(frame)).toEqual(frame);
      return frame;
    });
}

const lifecycle = (type: string, response: Response) => ({
  type,
  sequence_number: 0,
  response: { object: 'response', ...response },
});

function streamOf(response: Response, content: { type: string }[] = [...deriveEvents(response)]) {
  const status = response.status === 'cancelled' ? 'incomplete' : response.status;
  return [
    lifecycle('response.created', acceptedResponse()),
    lifecycle('response.in_progress', acceptedResponse()),
    ...content,
    lifecycle(`response.${status}`, response),
  ];
}

/** Puts frames together, one block after the other, as Anthropic's client does. */
function together(frames: Record<string, unknown>[]): unknown {
  let whole: Record<string, unknown> = {};
  const blocks: Record<string, unknown>[] = [];
  let open: number | undefined;
  let json = '';
  for (const frame of frames as Record<string, Record<string, unknown>>[]) {
    const { type, index, delta } = frame as unknown as { type: string; index: number; delta?: object };
    const block = blocks[index] ?? {};
    const {
      text,
      thinking,
      signature,
      partial_json: part,
    } = (delta ?? {}) as Record<string, string | undefined>;
    switch (type) {
      case 'message_start':
        whole = { ...frame['message'] };
        break;
      case 'content_block_start':
        expect([open, index]).toEqual([undefined, blocks.length]);
        open = index;
        json = '';
        blocks.push({ ...frame['content_block'] });
        break;
      case 'content_block_delta':
        expect(index).toBe(open);
        json += part ?? '';
        if (text !== undefined) block['text'] = `${String(block['text'])}${text}`;
        if (thinking !== undefined) block['thinking'] = `${String(block['thinking'])}${thinking}`;
        if (signature !== undefined) block['signature'] = signature;
        break;
      case 'content_block_stop':
        expect(index).toBe(open);
        open = undefined;
        if (json !== '') block['input'] = JSON.parse(json);
        break;
      case 'message_delta':
        whole = { ...whole, ...delta, usage: { ...(whole['usage'] as object), ...frame['usage'] } };
        break;
      default:
        expect(type).toBe('message_stop');
    }
  }
  expect(open).toBeUndefined();
  return { ...whole, content: blocks };
}

const everything = [
  reasoned(['First.', 'Second.'], ['Raw.'], 'sealed'),
  reasoned([], [], 'hidden'),
  said('Hello', ' there'),
  called('c1'),
  called('c2', '{}'),
];

describe('a response as a message', () => {
  it('has all that has a place in one', () => {
    const message = messageOf(ended(everything), shown);
    expect(messageSchema.parse(message)).toEqual(message);
    expect(message).toEqual({
      id: 'msg_0abc',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'thinking', thinking: 'First.\n\nSecond.\n\nRaw.', signature: 'sealed' },
        { type: 'redacted_thinking', data: 'hidden' },
        { type: 'text', text: 'Hello', citations: null },
        { type: 'text', text: ' there', citations: null },
        { type: 'tool_use', id: 'c1', name: 'look', input: { a: 'b' } },
        { type: 'tool_use', id: 'c2', name: 'look', input: {} },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: {
        input_tokens: 4,
        cache_creation_input_tokens: 3,
        cache_read_input_tokens: 2,
        output_tokens: 7,
        output_tokens_details: { thinking_tokens: 3 },
        service_tier: 'standard',
      },
    });
  });

  it.each([
    ['everything', everything],
    ['a text', [said('Hi')]],
    ['an empty text', [said('')]],
    ['nothing', []],
    ['a refusal', [said('Well: '), refused('Not that.')]],
    ['reasoning without a seal', [reasoned(['Two'], []), said('Hi')]],
    ['a call without arguments', [called('c', '')]],
  ])('is the same whole and as frames: %s', (_what, output) => {
    for (const thinking of ['summarized', 'omitted', 'none'] as const) {
      const response = ended(output);
      const frames = framesOf(streamOf(response), { thinking });
      expect(together(frames)).toEqual(messageOf(response, { thinking }));
      expect(frames.at(-1)).toEqual({ type: 'message_stop' });
    }
  });

  it('has thoughts only for a caller that asks for some', () => {
    const contentOf = (thinking: MessageDelivery['thinking']) =>
      messageOf(ended(everything), { thinking }).content.slice(0, 2);
    expect(contentOf('none')).toMatchObject([{ type: 'text' }, { type: 'text' }]);
    expect(contentOf('omitted')).toEqual([
      { type: 'thinking', thinking: '', signature: 'sealed' },
      { type: 'thinking', thinking: '', signature: 'hidden' },
    ]);
  });

  it('says why it has ended', () => {
    const end = (reason: 'max_output_tokens' | 'content_filter' | 'max_tool_calls') =>
      messageOf({ ...ended([said('Hi')]), status: 'incomplete', incomplete_details: { reason } }, shown)
        .stop_reason;
    expect(messageOf(ended([said('Hi')]), shown).stop_reason).toBe('end_turn');
    expect(messageOf(ended([refused('No.')]), shown).stop_reason).toBe('refusal');
    expect(end('max_output_tokens')).toBe('max_tokens');
    expect(end('max_tool_calls')).toBe('max_tokens');
    expect(end('content_filter')).toBe('refusal');
  });

  it('says before which stop sequence it has ended, where that is known', () => {
    const stopped = withEnd(acceptedResponse(), completed({ output: [said('Hi')], usage }, 1, 'END'));
    const expected = { stop_reason: 'stop_sequence', stop_sequence: 'END' };
    expect(messageOf(stopped, shown)).toMatchObject(expected);
    expect(framesOf(streamOf(stopped)).at(-2)).toMatchObject({ type: 'message_delta', delta: expected });
    // A client that is told of a tool runs it.
    const calling = withEnd(acceptedResponse(), completed({ output: [called('c')], usage }, 1, 'END'));
    expect(messageOf(calling, shown)).toMatchObject({ stop_reason: 'tool_use', stop_sequence: null });
  });

  it('has the text of a call that was cut off in place of its input', () => {
    expect(messageOf(ended([called('c', '{"a":')]), shown).content).toMatchObject([
      { input: { input: '{"a":' } },
    ]);
  });

  it('has the input of a tool as the model wrote it', () => {
    const args = ' {"id":12345678901234567890, "rate":1.0 } ';
    expect(messageJson(ended([called('c', args)]), shown)).toContain(`"name":"look","input":${args}}`);
  });

  it('has objects that somebody else finds in arguments', () => {
    const objectOf = (text: string) => (text === '<mark>' ? '{"long":true}' : undefined);
    expect(
      messageOf(ended([called('c', '<mark>'), called('d', '<cut>')]), shown, objectOf).content,
    ).toMatchObject([{ input: { long: true } }, { input: { input: '<cut>' } }]);
  });

  it('is an error when somebody has cancelled it', () => {
    const response: Response = {
      ...ended([said('Hi')]),
      status: 'cancelled',
      incomplete_details: { reason: 'cancelled' },
    };
    expect(() => messageOf(response, shown)).toThrow(expect.objectContaining({ code: 'server_error' }));
    expect(framesOf(streamOf(response)).at(-1)).toMatchObject({
      type: 'error',
      error: { type: 'api_error' },
    });
  });
});

const added = (at: number, callId: string) => ({
  type: 'response.output_item.added',
  output_index: at,
  item: { ...called(callId, ''), status: 'in_progress' },
});
const args = (at: number, delta: string, texts?: Record<string, string>) => ({
  type: 'response.function_call_arguments.delta',
  output_index: at,
  item_id: 'fc',
  delta,
  ...(texts && { texts }),
});
const done = (at: number, callId: string, whole: string) => ({
  type: 'response.output_item.done',
  output_index: at,
  item: called(callId, whole),
});

describe('calls that grow in turns', () => {
  it('are told one after the other', () => {
    const response = ended([called('c1', '{"a":1}'), called('c2', '{"b":2}'), said('Hi')]);
    const text = [...deriveEvents(response)].filter(
      (event) => 'output_index' in event && event.output_index === 2,
    );
    const frames = framesOf(
      streamOf(response, [
        added(0, 'c1'),
        args(0, '{"a"'),
        added(1, 'c2'),
        args(1, '{"b":'),
        args(0, ':1}'),
        args(1, '2}'),
        ...text,
        done(0, 'c1', '{"a":1}'),
        done(1, 'c2', '{"b":2}'),
      ]),
    );
    expect(together(frames)).toEqual(messageOf(response, shown));
  });

  it('are told while they grow, once those before them are whole', () => {
    const message = new MessageEvents<Record<string, string>>(shown, 'req_1');
    const frames = (event: Event) => message.of(given(event)).map(({ frame }) => frame);
    frames(lifecycle('response.created', acceptedResponse()));
    frames(added(0, 'c1'));
    frames(args(0, '{"a":1}'));
    expect(frames(added(1, 'c2'))).toMatchObject([
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1 },
    ]);
    expect(frames(args(1, '{'))).toMatchObject([{ type: 'content_block_delta', index: 1 }]);
    expect(frames(done(0, 'c1', '{"a":1}'))).toEqual([]);
  });

  it('are told at the end, though they were cut off', () => {
    const response: Response = {
      ...ended([called('c1', '{"a":'), called('c2', '{"b"')]),
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    };
    const content = [added(0, 'c1'), added(1, 'c2'), args(0, '{"a":'), args(1, '{"b"')];
    const frames = framesOf(streamOf(response, content));
    expect(frames.map(({ type, index = '' }) => `${type as string} ${index as string}`)).toEqual([
      'message_start ',
      'content_block_start 0',
      'content_block_delta 0',
      'content_block_stop 0',
      'content_block_start 1',
      'content_block_delta 1',
      'content_block_stop 1',
      'message_delta ',
      'message_stop ',
    ]);
  });

  it('keep their long texts while they wait', () => {
    const message = new MessageEvents<Record<string, string>>(shown, 'req_1');
    const of = (event: Event) => message.of(given(event));
    of(lifecycle('response.created', acceptedResponse()));
    of(added(0, 'c1'));
    of(added(1, 'c2'));
    of(args(1, '<mark>', { '<mark>': 'long' }));
    expect(of({ ...done(0, 'c1', ''), texts: { '<mark>': 'another' } })).toContainEqual({
      frame: expect.objectContaining({ delta: { type: 'input_json_delta', partial_json: '<mark>' } }),
      texts: { '<mark>': 'long' },
    });
  });

  it('lose nothing of what comes behind a long text, which may be whole without it', () => {
    const [first, long, rest] = ['{"a":"', 'x","b":{"c":"y', '"}'];
    const whole = `${first}${long}${rest}}`;
    const response = ended([called('c1', whole), called('c2', '{}')]);
    const frames = framesOf(
      streamOf(response, [
        added(0, 'c1'),
        args(0, first),
        args(0, '<mark>', { '<mark>': long }),
        args(0, rest),
        // With the mark in the place of the text, the arguments so far are an object.
        added(1, 'c2'),
        args(0, '}'),
        args(1, '{}'),
        done(0, 'c1', whole),
        done(1, 'c2', '{}'),
      ]),
    );
    expect(together(frames)).toEqual(messageOf(response, shown));
  });
});

it('tells the calls that waited until the end, however many', () => {
  const message = new MessageEvents<Record<string, string>>(shown, 'req_1');
  const of = (event: Event) => message.of(given(event));
  const waiting = 50_000;
  for (let at = 0; at <= waiting; at += 1) of(added(at, `c${at}`));
  for (let at = 1; at <= waiting; at += 1) of(args(at, '{}'));
  const frames = of(lifecycle('response.completed', ended([])));
  expect(frames.filter(({ frame }) => frame.type === 'content_block_start')).toHaveLength(waiting);
});

describe('what parallel calls cost', () => {
  const upTo = (make: (at: number) => Event) => Array.from({ length: 24_000 }, (_, at) => make(at));
  const openings = upTo((at) => added(at, `c${at}`));

  it.each([
    ['are done one after the other', [...openings, ...upTo((at) => done(at, `c${at}`, '{}'))]],
    ['are whole behind one that is not', [...openings, ...upTo((at) => args(23_999 - at, '{}'))]],
    ['end together', openings],
    ['grow in turns', [...openings, ...upTo((at) => args(at % 100, ' ')), ...upTo((at) => args(at, '{}'))]],
  ])('grows with their number, and not with its square, when they %s', (_what, events) => {
    const all = [...events, lifecycle('response.completed', ended([]))].map(given);
    const tell = () => {
      const message = new MessageEvents<Record<string, string>>(shown, 'req_1');
      return () => all.forEach((event) => message.of(event));
    };
    expect(costAgainstParsing(events, tell)).toBeLessThan(30);
  });
});

it('tells a client that begins with a thread to do without', () => {
  const error = new ServiceError('unsupported_parameter', { param: 'thread' });
  expect(messageErrorOf(error, 'req_1').error.details).toEqual({
    error_code: 'thread_unsupported_request',
    param: 'thread',
    unsupported: ['thread'],
  });
});

describe('the frames of a message', () => {
  it('begin with the message, and end with its usage', () => {
    const frames = framesOf(streamOf(ended([said('Hi')])));
    expect(frames[0]).toMatchObject({
      type: 'message_start',
      message: { id: 'msg_0abc', content: [], stop_reason: null, usage: { input_tokens: 0 } },
    });
    expect(frames.at(-2)).toMatchObject({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      usage: { input_tokens: 4, cache_read_input_tokens: 2, output_tokens: 7 },
    });
  });

  it('end with the error of a failure, which names a member of the request', () => {
    const error = failureBody('context_length_exceeded', "Too long: 'input'.", 'input');
    const frames = framesOf(streamOf({ ...ended([said('Hi')]), status: 'failed', error: { ...error } }));
    expect(frames.at(-1)).toEqual({
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: "Too long: 'messages'.",
        details: { error_code: 'context_length_exceeded', param: 'messages' },
      },
      request_id: 'req_1',
    });
  });
});
