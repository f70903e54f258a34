import { describe, expect, it } from 'vitest';
import { risenCosts } from './guard.ts';

const noted = { release: '0.1.0', costs: { 'a request': 2, 'a token': 1.5 } };

describe('the guard over costs', () => {
  it('names those that have risen by more than 5 % since the last release', () => {
    const costs = [
      { what: 'a request', rounds: [2.05, 9, 2.2] },
      { what: 'a token', rounds: [1.57] },
    ];
    expect(risenCosts(costs, noted)).toBe(
      'The CPU time has risen by more than 5 % since 0.1.0: 2.20 instead of 2.00 times that of the bare job for a request.',
    );
  });

  it('passes those that were not noted', () => {
    expect(risenCosts([{ what: 'a frame', rounds: [9] }], noted)).toBeUndefined();
  });
});
