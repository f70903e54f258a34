import { describe, expect, it } from 'vitest';
import { alternate, ratios } from './rounds.ts';

describe('alternate', () => {
  it('runs every alternative once a round, each round beginning with another', async () => {
    const order: string[] = [];
    const alternative = (name: string) => async () => {
      order.push(name);
      return name + order.length;
    };
    const results = await alternate(
      new Map([
        ['a', alternative('a')],
        ['b', alternative('b')],
      ]),
      2,
    );
    expect(order).toEqual(['a', 'b', 'b', 'a']);
    expect(results).toEqual(
      new Map([
        ['a', ['a1', 'a4']],
        ['b', ['b2', 'b3']],
      ]),
    );
  });
});

describe('ratios', () => {
  it('compares what was measured in the same round', () => {
    expect(ratios([10, 30], [5, 10], (value) => value)).toEqual([2, 3]);
  });
});
