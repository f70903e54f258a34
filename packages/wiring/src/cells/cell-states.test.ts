import { parseRedisCells } from '@sluice/runtime';
import { describe, expect, it } from 'vitest';
import { CellStates, type StoredCell } from './cell-states.ts';

function statesOf(addresses: string, stored: Record<string, Partial<StoredCell>>) {
  const clock = { now: 0 };
  const states = new CellStates(parseRedisCells(addresses), () => clock.now);
  const unchanged = { isOpen: false, wasOpen: false, from: 0 };
  states.take(new Map(Object.entries(stored).map(([name, cell]) => [name, { ...unchanged, ...cell }])));
  return { states, clock };
}

describe('the cells that take new responses', () => {
  it('are those of the addresses, but for those that drain', () => {
    const { states } = statesOf('redis://a redis://b?cell=E&drain', {});
    expect(states.open).toEqual(['0']);
    expect([states.of('0'), states.of('E')]).toEqual(['open', 'draining']);
  });

  it('change when a stored change begins to hold, and not before', () => {
    const { states, clock } = statesOf('redis://a', {
      E: { url: 'redis://b?cell=E', isOpen: true, from: 1_000 },
    });
    expect(states.open).toEqual(['0']);
    expect(states.coming).toEqual([['0', 'E']]);
    clock.now = 999;
    expect(states.open).toEqual(['0']);
    clock.now = 1_000;
    expect(states.open).toEqual(['0', 'E']);
    expect(states.coming).toEqual([]);
  });

  it('are told in the order in which several changes will hold', () => {
    const { states } = statesOf('redis://a redis://c?cell=s', {
      E: { url: 'redis://b?cell=E', isOpen: true, from: 2_000 },
      s: { isOpen: false, wasOpen: true, from: 1_000 },
    });
    expect(states.open).toEqual(['0', 's']);
    expect(states.coming).toEqual([['0'], ['0', 'E']]);
  });

  it('are not those that join, nor those that are changed and that no address names', () => {
    const { states } = statesOf('redis://a', {
      E: { url: 'redis://b?cell=E', isJoining: true },
      gone: { isOpen: true },
    });
    expect(states.open).toEqual(['0']);
    expect(states.of('E')).toBe('joining');
  });
});
