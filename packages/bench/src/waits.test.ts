import { describe, expect, it } from 'vitest';
import type { Sent } from './traffic/flow.ts';
import { firstTokenWaits, startedOf, waitsOf } from './waits.ts';

function sent(tag: string, at: number, others: Partial<Sent> = {}): Sent {
  return { tag, at, refusals: 0, answeredAt: at + 1, status: 200, ...others };
}

describe('waitsOf', () => {
  it('is the time from sending to the first arrival', () => {
    const log = [
      { tag: 'a-1', at: 130 },
      { tag: 'a-0', at: 150 },
      { tag: 'a-0', at: 190 },
    ];
    expect(waitsOf([sent('a-0', 100), sent('a-1', 110)], log, 1000)).toEqual([50, 20]);
  });

  it('counts one that has not arrived as long as it was watched', () => {
    expect(waitsOf([sent('a-0', 100)], [], 1000)).toEqual([900]);
    expect(startedOf([sent('a-0', 100)], [])).toBe(0);
  });
});

describe('firstTokenWaits', () => {
  it('counts one without a token until it was given up', () => {
    const tokens = [
      sent('a-0', 100, { firstTokenAt: 107 }),
      sent('a-1', 100, { answeredAt: 900, status: 0 }),
    ];
    expect(firstTokenWaits(tokens)).toEqual([7, 800]);
  });
});
