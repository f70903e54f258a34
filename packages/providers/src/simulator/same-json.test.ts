import { describe, expect, it } from 'vitest';
import { sameJson, spendOn } from './same-json.ts';

function budget(work: number): (cost: number) => boolean {
  let left = work;
  return (cost) => {
    left -= cost;
    return left >= 0;
  };
}

describe('sameJson', () => {
  it.each<[unknown, unknown, boolean]>([
    [1, 1, true],
    ['a', 'b', false],
    [null, {}, false],
    [[], {}, false],
    [{ a: 1, b: [2] }, { b: [2], a: 1 }, true],
    [{ a: 1 }, { b: 1 }, false],
    [[1, 2], [1, 3], false],
  ])('compares %j with %j', (one, other, expected) => {
    expect(sameJson(one, other, budget(100))).toBe(expected);
  });

  it('says no when there is no work left', () => {
    expect(sameJson([1, 2, 3], [1, 2, 3], budget(5))).toBe(false);
  });
});

describe('spendOn', () => {
  it('pays for everything in a value, at every depth', () => {
    expect(spendOn([[[1, 2]]], budget(5))).toBe(true);
    expect(spendOn([[[1, 2]]], budget(4))).toBe(false);
    expect(spendOn({ a: ['x'.repeat(1600)] }, budget(100))).toBe(false);
  });
});
