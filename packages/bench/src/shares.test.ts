import { describe, expect, it } from 'vitest';
import { nameOf, sharesOf, whileAllWait, worstDeviation } from './shares.ts';

describe('sharesOf', () => {
  it('adds up to one', () => {
    expect(sharesOf(['a', 'b', 'b', 'b'])).toEqual(
      new Map([
        ['a', 0.25],
        ['b', 0.75],
      ]),
    );
  });
});

describe('whileAllWait', () => {
  it('ends where the first one has nothing left to wait', () => {
    const waiting = new Map([
      ['a', 2],
      ['b', 3],
    ]);
    expect(whileAllWait(['b', 'a', 'b', 'a', 'b'], waiting)).toEqual(['b', 'a', 'b', 'a']);
  });

  it('is everything while nobody has run out', () => {
    expect(whileAllWait(['a', 'a'], new Map([['a', 3]]))).toEqual(['a', 'a']);
  });
});

describe('worstDeviation', () => {
  const weights = new Map([
    ['a', 1],
    ['b', 3],
  ]);

  it('is nothing for the promised shares', () => {
    expect(worstDeviation(['a', 'b', 'b', 'b'], weights)).toBe(0);
  });

  it('is relative to the promise', () => {
    expect(worstDeviation(['a', 'a', 'b', 'b'], weights)).toBe(1); // twice the promised quarter
    expect(worstDeviation(['b', 'b'], weights)).toBe(1); // nothing of it
    expect(worstDeviation(['a'], weights)).toBe(3);
  });

  it('is no number without starts', () => {
    expect(worstDeviation([], weights)).toBeNaN();
  });
});

describe('nameOf', () => {
  it('leaves out the number', () => {
    expect(nameOf('light-tenant-12')).toBe('light-tenant');
  });
});
