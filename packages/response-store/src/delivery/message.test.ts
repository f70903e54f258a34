import { describe, expect, it } from 'vitest';
import { idToLookUp, parseMessages } from './message.ts';
import { typeOf } from '../reading/read-events.ts';

describe('message', () => {
  it('numbers its events from the first', () => {
    expect(parseMessages('id 7 2 -\n{"type":"a"}\n{"type":"b"}')).toEqual([
      {
        responseId: 'id',
        events: [
          { sequenceNumber: 7, json: '{"type":"a"}' },
          { sequenceNumber: 8, json: '{"type":"b"}' },
        ],
        end: undefined,
      },
    ]);
  });

  it('carries the end behind its events', () => {
    expect(parseMessages('id 9 1 failed\n{"type":"response.failed"}\n{"status":"failed"}')).toEqual([
      {
        responseId: 'id',
        events: [{ sequenceNumber: 9, json: '{"type":"response.failed"}' }],
        end: '{"status":"failed"}',
      },
    ]);
  });

  it('tells of several responses, one after the other', () => {
    const text =
      'a 7 1 -\n{"type":"a7"}\nb 3 2 completed\n{"type":"b3"}\n{"type":"b4"}\n{"status":"completed"}\na 8 1 -\n{"type":"a8"}';
    expect(parseMessages(text)).toEqual([
      { responseId: 'a', events: [{ sequenceNumber: 7, json: '{"type":"a7"}' }], end: undefined },
      {
        responseId: 'b',
        events: [
          { sequenceNumber: 3, json: '{"type":"b3"}' },
          { sequenceNumber: 4, json: '{"type":"b4"}' },
        ],
        end: '{"status":"completed"}',
      },
      { responseId: 'a', events: [{ sequenceNumber: 8, json: '{"type":"a8"}' }], end: undefined },
    ]);
    const cut = text.slice(0, text.lastIndexOf('\n'));
    expect(parseMessages(cut)).toHaveLength(2);
  });

  it('is the end alone when nobody streams', () => {
    const end = '{"id":"create-response_0x","sequence_number":3,"status":"completed"}';
    expect(parseMessages(end)).toEqual([{ responseId: 'create-response_0x', events: [], end }]);
  });

  it('may only say that there is something to look up', () => {
    expect(idToLookUp('create-response_0x look')).toBe('create-response_0x');
    expect(idToLookUp('id 7 1 -\n{"type":"a"}')).toBeUndefined();
    // To a release that does not know it, it is no message, and the end is found by the next look.
    expect(parseMessages('create-response_0x look')).toEqual([]);
  });

  it.each(['', 'id', 'id 1', 'id 1 1', 'id 1 2 -\n{"type":"a"}'])(
    'that was cut is no message: %j',
    (text) => {
      expect(parseMessages(text)).toEqual([]);
    },
  );

  it('tells the type of an event without parsing it', () => {
    expect(
      typeOf('{"type":"response.output_text.delta","sequence_number":3,"delta":"\\"type\\":\\"x\\""}'),
    ).toBe('response.output_text.delta');
  });
});
