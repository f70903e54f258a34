import { describe, expect, it } from 'vitest';
import { TurnLanes } from './turn-lanes.ts';

const full = expect.objectContaining({ code: 'too_many_queued_requests' });

describe('the turns of a connection', () => {
  it('run one after the other in a lane, and beside each other in different ones', () => {
    const lanes = new TurnLanes<string>();
    expect(lanes.add(undefined, 'first')).toBe(true);
    expect(lanes.add(undefined, 'second')).toBe(false);
    expect(lanes.add('a', 'third')).toBe(true);
    expect(lanes.next(undefined)).toBe('second');
    expect(lanes.next('a')).toBeUndefined();
    expect(lanes.isIdle).toBe(false);
    expect(lanes.next(undefined)).toBeUndefined();
    expect(lanes.isIdle).toBe(true);
    expect(lanes.add(undefined, 'fourth')).toBe(true);
  });

  it('wait in a bounded number without a stream', () => {
    const lanes = new TurnLanes<number>();
    for (let at = 0; at < 33; at += 1) lanes.add(undefined, at);
    expect(() => lanes.add(undefined, 33)).toThrow(full);
    expect(lanes.add('a', 33)).toBe(true);
    lanes.next(undefined);
    expect(lanes.add(undefined, 34)).toBe(false);
  });

  it('are bounded over all lanes', () => {
    const lanes = new TurnLanes<number>();
    for (let at = 0; at < 64; at += 1) lanes.add(`lane ${at % 3}`, at);
    expect(() => lanes.add('lane 0', 64)).toThrow(full);
    expect(() => lanes.add('another', 64)).toThrow(full);
    lanes.next('lane 0');
    expect(lanes.add('another', 64)).toBe(true);
  });

  it('have so many streams in the life of the connection', () => {
    const lanes = new TurnLanes<number>();
    for (let at = 0; at < 128; at += 1) {
      lanes.add(`lane ${at}`, at);
      lanes.next(`lane ${at}`);
    }
    expect(() => lanes.add('one more', 0)).toThrow(
      expect.objectContaining({ code: 'websocket_stream_limit_reached' }),
    );
    expect(lanes.isIdle).toBe(true);
    expect(lanes.add('lane 5', 0)).toBe(true);
  });

  it('that wait are taken out, and those that run go on', () => {
    const lanes = new TurnLanes<string>();
    lanes.add(undefined, 'runs');
    lanes.add(undefined, 'waits');
    lanes.add('a', 'runs too');
    expect(lanes.takeWaiting()).toEqual(['waits']);
    expect(lanes.next(undefined)).toBeUndefined();
    expect(lanes.next('a')).toBeUndefined();
    expect(lanes.isIdle).toBe(true);
  });
});
