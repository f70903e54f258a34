import { describe, expect, it } from 'vitest';
import { SaturationGate } from './saturation-gate.ts';

/** How many calls it lets begin until the next reading, of many that wait. */
function begun(gate: SaturationGate, most = 2_000): number {
  let calls = 0;
  while (!gate.isClosed && calls < most) {
    gate.begin();
    calls += 1;
  }
  return calls;
}

describe('the gate of a saturated upstream', () => {
  it('is open before the first reading, and while few wait', () => {
    const gate = new SaturationGate({ most: 4 });
    expect(begun(gate)).toBe(2_000);
    gate.read(4);
    expect(begun(gate)).toBe(2_000);
  });

  it('is closed while more wait than the bound', () => {
    const gate = new SaturationGate({ most: 4 });
    gate.read(5);
    expect(gate.isClosed).toBe(true);
    gate.ended();
    expect(gate.isClosed).toBe(true);
    expect(gate.value).toBe(5);
  });

  it('opens step by step, so that not all who waited fill it at once', () => {
    const gate = new SaturationGate({ most: 4 });
    gate.read(9);
    const steps = [1, 0, 0, 0].map((value) => {
      gate.read(value);
      return begun(gate);
    });
    expect(steps).toEqual([3, 6, 12, 24]);
    for (let reading = 0; reading < 10; reading += 1) gate.read(0);
    expect(begun(gate)).toBe(2_000);
  });

  it('lets a call begin for each that ends, meanwhile', () => {
    const gate = new SaturationGate({ most: 2 });
    gate.read(9);
    gate.read(1);
    expect(begun(gate)).toBe(1);
    gate.ended();
    gate.ended();
    expect(begun(gate)).toBe(2);
  });

  it('lets one through when its bound is that nobody waits', () => {
    const gate = new SaturationGate({ most: 0 });
    gate.read(1);
    gate.read(0);
    expect(begun(gate)).toBe(1);
  });

  it('is open when nothing can be read', () => {
    const gate = new SaturationGate({ most: 4 });
    gate.read(9);
    gate.read(undefined);
    expect(begun(gate)).toBe(2_000);
    expect(gate.value).toBeUndefined();
  });
});
