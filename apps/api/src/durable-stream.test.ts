import { describe, expect, it } from 'vitest';
import { DurableFraming, offsetOf, positionHeaders, streamCursor } from './durable-stream.ts';
import type { SentEvent } from './responses/event-sink.ts';

const event = (sequenceNumber: number, type = 'response.output_text.delta'): SentEvent => ({
  type,
  sequenceNumber,
  json: `{"n":${sequenceNumber}}`,
});

/** What a framing wrote, as pairs of type and data. */
const read = (text: string) =>
  [...text.matchAll(/event: (\w+)\ndata: (.*)\n\n/g)].map(([, type, data]) => [type, JSON.parse(data ?? '')]);

describe('an offset', () => {
  it('sorts as text as it does as a number, behind the word for the beginning', () => {
    const numbers = [0, 1, 9, 10, 99, 1_000, 123_456_789];
    const offsets = ['-1', ...numbers.map(offsetOf)];
    expect(offsets.toSorted()).toEqual(offsets);
  });
});

describe('a cursor', () => {
  const epoch = Date.UTC(2024, 9, 9);
  it('is the number of the interval, and never goes back', () => {
    expect(streamCursor(undefined, epoch + 40_000, () => 0)).toBe('2');
    expect(streamCursor('1', epoch + 40_000, () => 0)).toBe('2');
    expect(streamCursor('2', epoch + 40_000, () => 0)).toBe('3');
    expect(streamCursor('7', epoch + 40_000, () => 0.99)).toBe('186');
  });
});

describe('the headers of a position', () => {
  it('name what holds and nothing else', () => {
    expect(positionHeaders({ next: 3, isUpToDate: false, isClosed: false })).toEqual({
      'stream-next-offset': '0000000000000003',
    });
    expect(positionHeaders({ next: 3, isUpToDate: true, isClosed: true }, '9')).toEqual({
      'stream-next-offset': '0000000000000003',
      'stream-up-to-date': 'true',
      'stream-closed': 'true',
      'stream-cursor': '9',
    });
  });
});

describe('the frames of a stream', () => {
  const framing = (next: number) => new DurableFraming({ next, cursor: () => '5' });

  it('say behind each batch where the stream is', () => {
    const stream = framing(0);
    expect(read(stream.frames([event(0), event(1)], false))).toEqual([
      ['data', [{ n: 0 }, { n: 1 }]],
      ['control', { streamNextOffset: offsetOf(2), streamCursor: '5' }],
    ]);
    expect(read(stream.caughtUp())).toEqual([
      ['control', { streamNextOffset: offsetOf(2), streamCursor: '5', upToDate: true }],
    ]);
    expect(stream.caughtUp()).toBe('');
    expect(read(stream.frames([event(2)], true)).at(-1)).toEqual([
      'control',
      { streamNextOffset: offsetOf(3), streamCursor: '5', upToDate: true },
    ]);
    expect(stream.caughtUp()).toBe('');
  });

  it('say with the last event that the stream is closed, and not again', () => {
    const stream = framing(4);
    expect(read(stream.frames([event(4, 'response.completed')], false)).at(-1)).toEqual([
      'control',
      { streamNextOffset: offsetOf(5), streamClosed: true, upToDate: true },
    ]);
    expect(stream.last()).toBe('');
  });

  it('say so to a reader that has everything', () => {
    expect(read(framing(5).last())).toEqual([
      ['control', { streamNextOffset: offsetOf(5), streamClosed: true, upToDate: true }],
    ]);
  });
});
