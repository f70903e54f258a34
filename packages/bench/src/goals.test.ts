import { describe, expect, it } from 'vitest';
import { atLeast, atMost, goalTable } from './goals.ts';

function holds(rounds: number[], isMet: (median: number) => boolean): string | undefined {
  return goalTable([{ what: 'a', goal: 'b', rounds, isMet }]).rows[0]?.[3];
}

describe('goalTable', () => {
  it('judges the median and shows the range', () => {
    const table = goalTable([{ what: 'wait', goal: 'at most 2 ms', rounds: [1, 2, 9], isMet: atMost(2) }]);
    expect(table.rows).toEqual([['wait', 'at most 2 ms', '2.00 (1.00..9.00)', 'yes']]);
    expect(holds([1, 3, 9], atMost(2))).toBe('**no**');
    expect(holds([1, 3, 9], atLeast(3))).toBe('yes');
  });

  it('is not met by a figure that could not be measured', () => {
    expect(holds([], atMost(2))).toBe('**no**');
    expect(holds([Number.NaN], (median) => !(median > 2))).toBe('**no**');
  });
});
