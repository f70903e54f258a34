import { completed, type LifecycleType, type ResponseEnd, type UnnumberedEvent } from '@sluice/contract';
import { acceptedResponse } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { type Dialect, dialects } from './dialect.ts';
import { EventPresentation } from './event-presentation.ts';

const [seed, standard] = dialects as [Dialect, Dialect]; // there are two mounts

const accepted = acceptedResponse();

function presentation(
  options: { dialect?: Dialect; obfuscate?: boolean; specificationNames?: boolean } = {},
) {
  const { dialect = standard, obfuscate = false, specificationNames = false } = options;
  return new EventPresentation({ dialect, obfuscate, specificationNames });
}

function logged(sequenceNumber: number, { type, ...members }: UnnumberedEvent | { type: string }) {
  return { sequenceNumber, json: JSON.stringify({ type, sequence_number: sequenceNumber, ...members }) };
}

const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
const delta = (text: string) =>
  ({ type: 'response.output_text.delta', ...at, delta: text, logprobs: [] }) as const;

describe('a content event', () => {
  it('passes as the bytes that were logged', () => {
    const event = logged(5, delta('Hello \u2028 "quoted"'));
    expect(presentation().present(event)).toEqual({
      type: 'response.output_text.delta',
      sequenceNumber: 5,
      json: event.json,
    });
  });

  it.each([
    ['response.reasoning_text.delta', 'response.reasoning.delta'],
    ['response.reasoning_text.done', 'response.reasoning.done'],
  ])('of raw reasoning, %s, is named %s on request', (type, named) => {
    const event = logged(5, { type, text: 'response.reasoning_text.delta' } as { type: string });
    const { type: shown, json } = presentation({ specificationNames: true }).present(event);
    expect(shown).toBe(named);
    // What the model said is not touched.
    expect(JSON.parse(json)).toEqual({
      type: named,
      sequence_number: 5,
      text: 'response.reasoning_text.delta',
    });
  });

  it('of a reasoning summary keeps its name', () => {
    const event = logged(5, { type: 'response.reasoning_summary_text.delta' });
    expect(presentation({ specificationNames: true }).present(event).json).toBe(event.json);
  });
});

describe('a padded event', () => {
  const padding = presentation({ obfuscate: true });

  it('has a size that tells little of its text, for any text', () => {
    for (let length = 0; length < 200; length += 1) {
      const { json } = padding.present(logged(length, delta('x'.repeat(length))));
      expect(json.length % 64).toBe(0);
      const { obfuscation, delta: text } = JSON.parse(json) as { obfuscation: string; delta: string };
      expect(obfuscation).toMatch(/^[a-z]+$/);
      expect(text).toHaveLength(length);
    }
  });

  it('is the same for every reader', () => {
    const event = logged(5, delta('Hello'));
    expect(padding.present(event)).toEqual(presentation({ obfuscate: true }).present(event));
  });

  it('is a delta; others say nothing of single tokens', () => {
    const event = logged(6, { type: 'response.output_text.done', ...at, text: 'Hello', logprobs: [] });
    expect(padding.present(event).json).toBe(event.json);
  });
});

describe('a life-cycle event', () => {
  const shown = (
    type: LifecycleType,
    { dialect = standard, end }: { dialect?: Dialect; end?: ResponseEnd } = {},
  ) => presentation({ dialect }).lifecycle(accepted, { type, sequenceNumber: 1 }, end);

  it('carries the whole response in the words of the mount', () => {
    for (const dialect of [seed, standard]) {
      const { type, json } = shown('response.queued', { dialect });
      expect(type).toBe('response.queued');
      expect(JSON.parse(json)).toEqual({
        type: 'response.queued',
        sequence_number: 1,
        response: { ...accepted, object: dialect.object, status: 'queued' },
      });
    }
  });

  it('shows a response in progress once a worker has it', () => {
    const { json } = shown('response.in_progress');
    expect(JSON.parse(json)).toMatchObject({ response: { status: 'in_progress' } });
  });

  it('ends with what the end added', () => {
    const end = completed({ output: [], usage: null }, 9);
    const { json } = shown('response.completed', { end });
    expect(JSON.parse(json)).toMatchObject({
      response: { status: 'completed', completed_at: 9, output_text: '' },
    });
  });
});
