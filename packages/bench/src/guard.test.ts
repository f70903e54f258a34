import { describe, expect, it } from 'vitest';
import { costTable, heldCosts, type MeasuredCost, risenCosts, thoroughCosts } from './guard.ts';

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

  it('shows each beside that of the last release', () => {
    const costs = [
      { what: 'a request', rounds: [2.05, 9, 2.2] },
      { what: 'a frame', rounds: [9] },
    ];
    expect(costTable(costs, noted)).toMatchObject({
      columns: ['', 'release 0.1.0', 'measured'],
      rows: [
        ['a request', '2.00', '2.20 (2.05..9.00)'],
        ['a frame', '–', '9.00 (9.00..9.00)'],
      ],
    });
  });

  it('passes those that were not noted', () => {
    expect(risenCosts([{ what: 'a frame', rounds: [9] }], noted)).toBeUndefined();
  });
});

describe('a cost that seems to have risen', () => {
  const measured = (what: string, ...rounds: number[]): MeasuredCost => ({
    what,
    scenario: `${what}s`,
    rounds,
  });

  it('is measured again, and passes if the rounds of all looks do', async () => {
    const asked: (readonly string[])[] = [];
    const told = await heldCosts(
      [measured('a request', 2.2, 2.3, 2.4), measured('a token', 1.5)],
      noted,
      async (scenarios) => {
        asked.push(scenarios);
        return [measured('a request', 1.9, 2, 2, 2.1)];
      },
    );
    expect(told).toBeUndefined();
    expect(asked).toEqual([['a requests']]);
  });

  it('fails if every look shows it', async () => {
    const told = await heldCosts([measured('a request', 2.2)], noted, async () => [
      measured('a request', 2.4),
    ]);
    expect(told).toContain('2.40 instead of 2.00 times');
  });

  it('is noted for a release with the rounds of all looks', async () => {
    const costs = await thoroughCosts([measured('a request', 2.2)], async () => [measured('a request', 2.4)]);
    expect(costs).toEqual([measured('a request', 2.2, 2.4, 2.4)]);
  });
});
