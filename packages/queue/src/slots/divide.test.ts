import { describe, expect, it } from 'vitest';
import { divide, divideInTurn } from './divide.ts';

describe('a whole number that is divided', () => {
  it.each([
    [9, [0, 0, 0], [3, 3, 3]],
    [10, [0, 0, 0], [4, 3, 3]],
    [9, [1, 0, 0], [9, 0, 0]],
    [7, [60, 20, 20], [4, 2, 1]],
    [0, [1, 2], [0, 0]],
    [3, [], []],
  ])('of %i by %j is %j', (whole, weights, parts) => {
    expect(divide(whole, weights)).toEqual(parts);
  });

  it('goes round where there is less than one for each, as often as the weights say', () => {
    let owed: number[] = [];
    const had = [0, 0, 0];
    for (let turn = 0; turn < 1_000; turn += 1) {
      const divided = divideInTurn(1, [60, 30, 10], owed);
      owed = divided.owed;
      expect(divided.parts.reduce((sum, part) => sum + part, 0)).toBe(1);
      for (const [at, part] of divided.parts.entries()) had[at] = (had[at] ?? 0) + part;
    }
    expect(had).toEqual([600, 300, 100]);
  });

  it('has its sum whatever is owed, and no part below nothing', () => {
    for (const owed of [
      [-3.4, 1.2, 2.2],
      [5, -5, 0],
      [0.1, 0.1, -0.2],
    ])
      for (const whole of [0, 1, 2, 7]) {
        const { parts } = divideInTurn(whole, [1, 5, 2], owed);
        expect(parts.reduce((sum, part) => sum + part, 0)).toBe(whole);
        expect(Math.min(...parts)).toBeGreaterThanOrEqual(0);
      }
  });
});
