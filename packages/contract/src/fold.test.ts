import { describe, expect, it } from 'vitest';
import { closeAll, trackAll } from './close-items.ts';
import { countDerivedEvents, deriveEvents } from './derive-events.ts';
import { failureBody } from './error-body.ts';
import type { ContentEvent, UnnumberedEvent } from './events.ts';
import { applyEvent, emptyFold, foldEvents } from './fold.ts';
import type { ContentPart, OutputItem } from './output.ts';

const logprob = { token: 'a', logprob: -1, bytes: [97], top_logprobs: [] };
const output: OutputItem[] = [
  {
    type: 'reasoning',
    id: 'rs_1',
    status: 'completed',
    summary: [
      { type: 'summary_text', text: 'one' },
      { type: 'summary_text', text: 'two' },
    ],
    content: [{ type: 'reasoning_text', text: 'raw' }],
  },
  {
    type: 'message',
    id: 'msg_1',
    status: 'completed',
    role: 'assistant',
    phase: 'final_answer',
    content: [
      {
        type: 'output_text',
        text: 'hello',
        annotations: [{ type: 'url_citation' }, { type: 'x' }],
        logprobs: [logprob],
      },
      { type: 'refusal', refusal: 'no' },
      { type: 'output_text', text: '', annotations: [], logprobs: [] },
    ],
  },
  {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'call_1',
    name: 'add',
    arguments: '{"a":1}',
    status: 'completed',
  },
  {
    type: 'custom_tool_call',
    id: 'ctc_1',
    call_id: 'call_2',
    name: 'shell',
    input: 'ls -l',
    status: 'completed',
  },
  { type: 'message', id: 'msg_2', status: 'incomplete', role: 'assistant', content: [] },
];

/** The place of an event in an item. */
const inItem = (output_index: number) => ({ item_id: 'm', output_index });

/** Each delta in single characters, so that a log has many places to be cut. */
function spelledOut(events: readonly UnnumberedEvent[]): UnnumberedEvent[] {
  return events.flatMap((event): UnnumberedEvent[] => {
    if (!('delta' in event) || event.type === 'response.output_text.delta') return [event];
    return event.delta.split('').map((delta) => ({ ...event, delta }));
  });
}

const log: ContentEvent[] = spelledOut([...deriveEvents({ output, error: null })]).map((event, at) => ({
  ...event,
  sequence_number: at + 3,
}));

describe('fold', () => {
  it('takes more logprobs at once than a call of a function could', () => {
    const fold = emptyFold();
    for (const event of log.slice(
      0,
      log.findIndex(({ type }) => type === 'response.output_text.delta'),
    )) {
      applyEvent(fold, event);
    }
    const logprobs = Array.from({ length: 200_000 }, () => logprob);
    applyEvent(fold, {
      type: 'response.output_text.delta',
      item_id: 'msg_1',
      output_index: 1,
      content_index: 0,
      delta: 'a',
      logprobs,
    });
    expect(fold.items[1]).toMatchObject({ content: [{ logprobs: { length: logprobs.length } }] });
  });

  it('makes the output of the events', () => {
    expect(foldEvents(log)).toEqual(output);
  });

  it('makes the same of any cut of a log', () => {
    for (let cut = 0; cut <= log.length; cut += 1) {
      const fold = emptyFold();
      for (const event of log.slice(0, cut)) applyEvent(fold, event);
      // What was folded so far may be stored and taken up by another process.
      const stored = structuredClone(fold);
      for (const event of log.slice(cut)) applyEvent(stored, event);
      expect(stored.items).toEqual(output);
    }
  });

  it('does not touch the events, nor share anything with them', () => {
    const before = structuredClone(log);
    const items = foldEvents(log);
    applyEvent(
      { items },
      {
        type: 'response.content_part.added',
        item_id: 'msg_1',
        output_index: 1,
        content_index: 0,
        part: { type: 'refusal', refusal: 'x' },
      },
    );
    expect(log).toEqual(before);
  });

  const refusal = (output_index: number, content_index: number) =>
    ({ type: 'response.refusal.delta', ...inItem(output_index), content_index, delta: '' }) as const;
  const summary = (output_index: number, summary_index: number) =>
    ({
      type: 'response.reasoning_summary_text.delta',
      ...inItem(output_index),
      summary_index,
      delta: '',
    }) as const;
  const added = (output_index: number, part: ContentPart) =>
    ({ type: 'response.content_part.added', ...inItem(output_index), content_index: 0, part }) as const;

  it.each([
    ['an item that was never added', refusal(9, 0)],
    ['a part that was never added', refusal(1, 9)],
    ['a part of another kind', refusal(1, 0)],
    ['arguments of a message', { type: 'response.function_call_arguments.delta', ...inItem(1), delta: '' }],
    ['a summary of a message', summary(1, 0)],
    ['a summary part that was never added', summary(0, 9)],
    ['a reasoning part in a message', added(1, { type: 'reasoning_text', text: '' })],
    ['a text part in a call', added(2, { type: 'refusal', refusal: '' })],
  ] satisfies [string, UnnumberedEvent][])('refuses %s', (_what, event) => {
    expect(() => applyEvent({ items: structuredClone(output) }, event)).toThrow(RangeError);
  });
});

function unnumbered(event: ContentEvent): string {
  return JSON.stringify({ ...event, sequence_number: 0 });
}

describe('closing', () => {
  it('leaves nothing open of any prefix, and repeats nothing', () => {
    for (let cut = 0; cut <= log.length; cut += 1) {
      const prefix = log.slice(0, cut);
      const closing = closeAll(trackAll(prefix)).map((event) => ({ ...event, sequence_number: 0 }));
      expect(trackAll([...prefix, ...closing]).open.size).toBe(0);
      const said = new Set(prefix.map(unnumbered));
      for (const event of closing) expect(said).not.toContain(unnumbered(event));
      for (const item of foldEvents([...prefix, ...closing])) expect(item.status).not.toBe('in_progress');
    }
  });

  it('keeps what was said', () => {
    for (let cut = 0; cut <= log.length; cut += 1) {
      const prefix = log.slice(0, cut);
      const partial = foldEvents(prefix);
      const closing = closeAll(trackAll(prefix)).map((event) => ({ ...event, sequence_number: 0 }));
      const closed = foldEvents([...prefix, ...closing]);
      expect(closed.map((item) => ({ ...item, status: '' }))).toEqual(
        partial.map((item) => ({ ...item, status: '' })),
      );
    }
  });
});

describe('derived events', () => {
  it('can be had from any one on, and are counted without being made', () => {
    const end = { output, error: failureBody('timeout') };
    const all = [...deriveEvents(end)];
    expect(countDerivedEvents(end)).toBe(all.length);
    for (let skipped = 0; skipped <= all.length; skipped += 1) {
      expect([...deriveEvents(end, skipped)]).toEqual(all.slice(skipped));
    }
  });

  it('are made one at a time, when they are wanted', () => {
    let wasRead = false;
    const later = {
      ...output[1],
      get content(): never {
        wasRead = true;
        throw new Error('nobody wanted this');
      },
    } as unknown as (typeof output)[number];
    const events = deriveEvents({ output: [...output, later], error: null });
    for (let made = countDerivedEvents({ output, error: null }); made > 0; made -= 1) events.next();
    expect(wasRead).toBe(false);
  });

  it('are the same each time', () => {
    expect([...deriveEvents({ output, error: null })]).toEqual([
      ...deriveEvents({ output: structuredClone(output), error: null }),
    ]);
  });

  it('end with the error of a failed response', () => {
    expect([...deriveEvents({ output: [], error: failureBody('timeout') })].map(({ type }) => type)).toEqual([
      'error',
    ]);
  });
});
