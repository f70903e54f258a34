import { describe, expect, it } from 'vitest';
import { compare, positionError, shareWithin, startError } from './predictions.ts';

const log = [
  { tag: 'a-0', at: 100 },
  { tag: 'a-1', at: 200 },
  { tag: 'b-0', at: 300 },
];

describe('compare', () => {
  it('counts what started between the question and the response, which is at place 1 when it is next', () => {
    const forecasts = [
      { tag: 'a-1', at: 150, position: 1, startsAt: 190 },
      { tag: 'b-0', at: 150, position: 5, startsAt: 400 },
    ];
    const [next, last] = compare(forecasts, log);
    expect(next).toMatchObject({ truePosition: 1, trueStart: 200 });
    expect(next && [positionError(next), startError(next)]).toEqual([0, 10]);
    expect(last).toMatchObject({ truePosition: 2, trueStart: 300 });
    expect(last && [positionError(last), startError(last)]).toEqual([-3, -100]);
  });

  it('leaves out what had started, and what never did', () => {
    const forecasts = [
      { tag: 'a-0', at: 150, position: 1, startsAt: 160 },
      { tag: 'c-0', at: 150, position: 1, startsAt: 160 },
    ];
    expect(compare(forecasts, log)).toEqual([]);
  });
});

describe('shareWithin', () => {
  it('allows a part of the truth, and a little of what is near', () => {
    const errors = [
      { error: 4, truth: 1 },
      { error: -19, truth: 100 },
      { error: 21, truth: 100 },
      { error: Number.NaN, truth: 100 },
    ];
    expect(shareWithin(errors, { part: 0.2, small: 5 })).toBe(0.5);
    expect(shareWithin([], { part: 0.2, small: 5 })).toBeNaN();
  });
});
