import { describe, expect, it } from 'vitest';
import { WaitsForRoom } from './waits-for-room.ts';

function setUp() {
  let passedMs = 0;
  const waits = new WaitsForRoom({ now: () => passedMs });
  const pass = (ms: number) => {
    passedMs += ms;
  };
  const add = (tenant: string, count: number, forMs = 1_000) => {
    for (let at = 0; at < count; at += 1) waits.add({ id: `${tenant} ${at}`, tenant }, forMs);
  };
  return { waits, pass, add };
}

describe('a response without room for its input', () => {
  it('waits longer the more of its tenant wait, up to half a minute', () => {
    const { waits, add } = setUp();
    const pauses = [0, 100, 10_000].map((count) => {
      add('one', count);
      return waits.pauseMs('one');
    });
    expect(pauses).toEqual([500, 2_000, 30_000]);
  });

  it('waits no longer for the thousands of another tenant', () => {
    const { waits, add } = setUp();
    add('many', 10_000);
    expect(waits.pauseMs('few')).toBe(500);
    add('few', 50);
    expect(waits.pauseMs('few')).toBe(2_000);
  });

  it('does not wait for those that came back', () => {
    const { waits, add } = setUp();
    add('one', 1_000);
    for (let at = 0; at < 1_000; at += 1) waits.delete(`one ${at}`);
    expect(waits.pauseMs('one')).toBe(500);
  });

  it('does not wait for those that another worker has run, once they were due', () => {
    const { waits, add, pass } = setUp();
    add('one', 1_000, 30_000);
    pass(30_000);
    expect(waits.pauseMs('one')).toBe(20_000);
    pass(6_000);
    expect(waits.pauseMs('one')).toBe(500);
  });
});
