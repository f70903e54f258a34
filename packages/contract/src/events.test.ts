import { describe, expect, it } from 'vitest';
import { responseFor } from './build-response.ts';
import { errorEvent } from './error-event.ts';
import { failureBody } from './error-body.ts';
import { eventSchema, isLifecycleType, isTerminalType, lifecycleTypes, parseEvent } from './events.ts';

const accepted = responseFor(
  { model: 'simulator' },
  { id: 'create-response_abcdefghijklmnopqrstuvwxyz', createdAt: 1, serviceTier: 'default' },
);
const response = { ...accepted, object: 'response' };
const at = { sequence_number: 7, item_id: 'msg_1', output_index: 0 };
const inPart = { ...at, content_index: 0 };
const inSummary = { ...at, summary_index: 0 };
const logprob = {
  token: 'a',
  logprob: -1,
  bytes: [97],
  top_logprobs: [{ token: 'b', logprob: -2, bytes: [98] }],
};
const text = {
  type: 'output_text',
  text: 'a',
  annotations: [{ type: 'url_citation', url: 'u', extra: [1] }],
  logprobs: [logprob],
};
const item = {
  type: 'message',
  id: 'msg_1',
  status: 'completed',
  role: 'assistant',
  content: [text],
  phase: 'commentary',
};
const reasoning = {
  type: 'reasoning',
  id: 'rs_1',
  status: 'completed',
  summary: [{ type: 'summary_text', text: 's' }],
  content: [{ type: 'reasoning_text', text: 'r' }],
  encrypted_content: 'e',
};
const call = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'add',
  arguments: '{}',
  status: 'completed',
};

const events = [
  ...lifecycleTypes.map((type) => ({ type, sequence_number: 7, response })),
  { ...errorEvent(failureBody('timeout')), sequence_number: 7 },
  { type: 'response.output_item.added', sequence_number: 7, output_index: 0, item },
  { type: 'response.output_item.done', sequence_number: 7, output_index: 0, item: reasoning },
  { type: 'response.output_item.done', sequence_number: 7, output_index: 0, item: call },
  { type: 'response.content_part.added', ...inPart, part: text },
  { type: 'response.content_part.done', ...inPart, part: { type: 'refusal', refusal: 'no' } },
  { type: 'response.output_text.delta', ...inPart, delta: 'a\n\u2028"', logprobs: [logprob] },
  { type: 'response.output_text.done', ...inPart, text: 'a', logprobs: [] },
  {
    type: 'response.output_text.annotation.added',
    ...inPart,
    annotation_index: 0,
    annotation: { type: 'x', any: {} },
  },
  { type: 'response.refusal.delta', ...inPart, delta: 'n' },
  { type: 'response.refusal.done', ...inPart, refusal: 'no' },
  { type: 'response.reasoning_text.delta', ...inPart, delta: 'r' },
  { type: 'response.reasoning_text.done', ...inPart, text: 'r' },
  { type: 'response.reasoning_summary_part.added', ...inSummary, part: { type: 'summary_text', text: '' } },
  { type: 'response.reasoning_summary_part.done', ...inSummary, part: { type: 'summary_text', text: 's' } },
  { type: 'response.reasoning_summary_text.delta', ...inSummary, delta: 's' },
  { type: 'response.reasoning_summary_text.done', ...inSummary, text: 's' },
  { type: 'response.function_call_arguments.delta', ...at, delta: '{' },
  { type: 'response.function_call_arguments.done', ...at, name: 'add', arguments: '{}' },
  { type: 'response.custom_tool_call_input.delta', ...at, delta: 'l' },
  { type: 'response.custom_tool_call_input.done', ...at, input: 'ls' },
];

describe('events', () => {
  it.each(events)('come back from JSON as they went: $type', (event) => {
    expect(parseEvent(JSON.stringify(event))).toEqual(event);
    expect(eventSchema.parse(event)).toEqual(event);
  });

  it.each([
    ['no JSON', '{'],
    ['no object', '5'],
    ['a list', '[]'],
    ['no type', '{}'],
    ['an unknown type', '{"type":"response.cancelled","sequence_number":0}'],
    ['a member of every object', '{"type":"constructor"}'],
    ['a missing member', '{"type":"response.refusal.delta","sequence_number":0}'],
    ['a number below zero', JSON.stringify({ ...events[0], sequence_number: -1 })],
    ['a number that is no integer', JSON.stringify({ ...events[0], sequence_number: 0.5 })],
    ['no response', '{"type":"response.created","sequence_number":0,"response":null}'],
    [
      'a response without a member',
      JSON.stringify({ ...events[0], response: { ...response, model: undefined } }),
    ],
  ])('are refused with %s', (_what, json) => {
    expect(() => parseEvent(json)).toThrow();
  });

  it('end a response with three of their types', () => {
    const types = new Set(events.map(({ type }) => type));
    expect([...types].filter(isTerminalType)).toEqual([
      'response.completed',
      'response.incomplete',
      'response.failed',
    ]);
    expect([...types].filter(isLifecycleType)).toEqual(lifecycleTypes);
  });
});
