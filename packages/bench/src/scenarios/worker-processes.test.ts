import { expect, it } from 'vitest';
import { steadyRate } from './worker-processes.ts';

/** Slots that begin together, one turn after the other. */
function turns(count: number, slots: number, serviceMs: number) {
  return Array.from({ length: count * slots }, (_, at) => ({
    tag: `work-${at}`,
    at: Math.floor(at / slots) * serviceMs,
    endedAt: (Math.floor(at / slots) + 1) * serviceMs,
  }));
}

it('counts whole turns only, so that slots in step give the rate that they have', () => {
  expect(steadyRate(turns(6, 16, 500), 16)).toBe(32);
  expect(steadyRate(turns(10, 32, 500), 32)).toBe(64);
});
