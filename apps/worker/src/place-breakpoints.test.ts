import type { CacheBreakpoint } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { placeBreakpoints } from './place-breakpoints.ts';

const [a, b, c, d] = [{ is: 'a' }, { is: 'b' }, { is: 'c' }, { is: 'd' }];
const given: CacheBreakpoint[] = [
  { at: 'tool', index: 0 },
  { at: 'input', index: 0, part: 1, ttl: '1h' },
  { at: 'input', index: 1 },
];

describe('breakpoints of a request', () => {
  it('stand behind what the request continues from', () => {
    const whole = [a, b, c, d];
    expect(placeBreakpoints({ cache_breakpoints: given }, { whole, before: 2, kept: whole })).toEqual({
      cache_breakpoints: [
        { at: 'tool', index: 0 },
        { at: 'input', index: 2, part: 1, ttl: '1h' },
        { at: 'input', index: 3 },
      ],
    });
  });

  it('move with their items when others are left out, and go with those that are', () => {
    const whole = [a, b, c, d];
    expect(placeBreakpoints({ cache_breakpoints: given }, { whole, before: 2, kept: [b, d] })).toEqual({
      cache_breakpoints: [
        { at: 'tool', index: 0 },
        { at: 'input', index: 1 },
      ],
    });
  });

  it('are absent where there are none', () => {
    expect(placeBreakpoints({}, { whole: [a], before: 0, kept: [a] })).toEqual({});
  });
});
