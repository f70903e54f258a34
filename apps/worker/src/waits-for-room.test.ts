import { describe, expect, it } from 'vitest';
import { WaitsForRoom } from './waits-for-room.ts';

function setUp() {
  let passedMs = 0;
  const waits = new WaitsForRoom({ now: () => passedMs });
  const pass = (ms: number) => {
    passedMs += ms;
  };
  const add = (tenant: string, count: number, forMs = 1_000) => {
    for (let at = 0; at < count; at += 1) waits.add({ id: `${tenant} ${at}`, tenant, bytes: 1 }, forMs);
  };
  const pauseMs = (tenant: string) => waits.pauseMs({ id: 'new', tenant });
  const order = () => [...waits.inOrder()].map(({ id }) => id);
  return { waits, pass, add, pauseMs, order };
}

describe('a response without room for its input', () => {
  it('waits longer the more of its tenant wait, up to half a minute', () => {
    const { add, pauseMs } = setUp();
    const pauses = [0, 100, 10_000].map((count) => {
      add('one', count);
      return pauseMs('one');
    });
    expect(pauses).toEqual([500, 2_000, 30_000]);
  });

  it('waits no longer for the thousands of another tenant', () => {
    const { add, pauseMs } = setUp();
    add('many', 10_000);
    expect(pauseMs('few')).toBe(500);
    add('few', 50);
    expect(pauseMs('few')).toBe(2_000);
  });

  it('does not wait for those that came back', () => {
    const { waits, add, pauseMs } = setUp();
    add('one', 1_000);
    for (let at = 0; at < 1_000; at += 1) waits.delete(`one ${at}`);
    expect(pauseMs('one')).toBe(500);
  });

  it('does not wait for those that another worker has run, once they were due', () => {
    const { add, pass, pauseMs, order } = setUp();
    add('one', 1_000, 30_000);
    pass(30_000);
    expect(pauseMs('one')).toBe(20_000);
    pass(16_000);
    expect(pauseMs('one')).toBe(500);
    expect(order()).toEqual([]);
  });

  it('comes back soon when it has waited longest', () => {
    const { waits, add } = setUp();
    add('one', 1_000);
    const pauses = ['one 0', 'one 1'].map((id) => waits.pauseMs({ id, tenant: 'one' }));
    expect(pauses).toEqual([500, 20_000]);
  });

  it('has its place in the line of its tenant as long as it comes back', () => {
    const { waits, add, order } = setUp();
    add('one', 3);
    waits.add({ id: 'one 0', tenant: 'one', bytes: 1 }, 1_000);
    expect(order()).toEqual(['one 0', 'one 1', 'one 2']);
    waits.delete('one 1');
    add('one', 2);
    expect(order()).toEqual(['one 0', 'one 2', 'one 1']);
  });

  it('is in front of another tenant when that had its turn', () => {
    const { waits, add, order } = setUp();
    add('many', 3);
    add('few', 1);
    waits.delete('many 1');
    expect(order()).toEqual(['many 0', 'many 2', 'few 0']);
    waits.delete('many 0');
    expect(order()).toEqual(['few 0', 'many 2']);
    waits.delete('few 0');
    expect(order()).toEqual(['many 2']);
  });
});
