import { randomFrom } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { fairShares } from './fair-shares.ts';
import type { FlowsDemand } from './queue-demand.ts';

interface Flow {
  weight: number;
  running: number;
  waiting: number;
}

/** How far a response of weight 1 moves its flow on, in ticks. */
const ticks = 4;

/** A cell in which flows have asked for more than runs: what waits of each has the tags that an accept gave it. */
function cellOf(flows: readonly Flow[]): FlowsDemand {
  const passed = 1_000;
  const tags = flows.flatMap(({ weight, waiting }) =>
    Array.from({ length: waiting }, (_job, at) => (at * ticks) / weight),
  );
  const priorities = tags.map((tag) => Math.floor(passed + tag) + 1).toSorted((one, other) => one - other);
  return {
    limit: undefined,
    running: flows.reduce((sum, flow) => sum + flow.running, 0),
    waiting: tags.length,
    first: 0,
    priorities,
    runningIds: [],
    passed,
    flows: flows
      .filter(({ running }) => running > 0)
      .map(({ weight, running, waiting }) => ({
        running,
        cost: ticks / weight,
        lead: (waiting * ticks) / weight,
        waiting,
      })),
  };
}

/** The shares of the cells when every flow gets its part by weight, and none more than it asks for. */
function byFlow(cells: readonly (readonly Flow[])[], available: number): number[] {
  const given = (level: number) =>
    cells.map((flows) =>
      flows.reduce(
        (sum, { weight, running, waiting }) => sum + Math.min(running + waiting, level * weight),
        0,
      ),
    );
  let [low, high] = [0, 2 * available]; // the least weight is a half
  for (let halving = 0; halving < 60; halving += 1) {
    const middle = (low + high) / 2;
    if (given(middle).reduce((sum, each) => sum + each, 0) <= available) low = middle;
    else high = middle;
  }
  return given(low);
}

const flow = (weight: number, running: number, waiting: number): Flow => ({ weight, running, waiting });

describe('the shares of cells', () => {
  it('are by tenants, and not by how much each of them has waiting', () => {
    const shares = fairShares([cellOf([flow(1, 0, 10_000)]), cellOf([flow(1, 0, 100)])], 20);
    expect(shares.map(Math.round)).toEqual([10, 10]);
  });

  it('are by their weights, in which a tenant of several cells counts once', () => {
    // The first tenant has the weight 3 and is in one cell, the second has the weight 1 and is in three.
    const third = flow(1 / 3, 0, 50);
    const shares = fairShares([cellOf([flow(3, 0, 500), third]), cellOf([third]), cellOf([third])], 24);
    expect(shares[0]).toBeCloseTo(20, 0);
    expect(shares[1]).toBeCloseTo(2, 0);
  });

  it('take nothing from a tenant who asks for less than its share, whether or not that runs already', () => {
    const shares = fairShares([cellOf([flow(1, 18, 900)]), cellOf([flow(1, 2, 1)])], 20);
    expect(shares).toEqual([17, 3]);
  });

  it('are given up by what runs when another tenant comes', () => {
    const shares = fairShares([cellOf([flow(1, 20, 500)]), cellOf([flow(1, 0, 40)])], 20);
    expect(shares.map(Math.round)).toEqual([10, 10]);
  });

  it('leave what runs of a tenant who has cancelled what waited', () => {
    const cancelled = cellOf([flow(1, 10, 0), flow(1, 0, 100)]);
    const flows = cancelled.flows.map((each) => ({ ...each, lead: 4_000 * ticks }));
    const shares = fairShares([{ ...cancelled, flows }, cellOf([flow(1, 0, 100)])], 21);
    expect(shares.map(Math.round)).toEqual([14, 7]);
  });

  it('are the same when only the first of the jobs were looked at', () => {
    const whole = [cellOf([flow(1, 100, 3_000)]), cellOf([flow(1, 100, 500), flow(2, 50, 800)])];
    const cut = whole.map((cell) => ({
      ...cell,
      priorities: cell.priorities.slice(0, 40),
      runningIds: Array.from({ length: cell.running / 10 }, String),
      flows: cell.flows.map((each) => ({ ...each, running: each.running / 10 })),
    }));
    const shares = fairShares(cut, 250);
    for (const [at, share] of fairShares(whole, 250).entries())
      expect(Math.abs((shares[at] ?? 0) - share)).toBeLessThan(20);
  });

  it('are numbers, also when more jobs are late than may run', () => {
    const late = { ...cellOf([]), waiting: 3, priorities: [5, 5, 5], passed: 100 };
    expect(fairShares([late, late], 1)).toEqual([0.5, 0.5]);
  });

  it('go by what waits and runs where nobody knows the flows', () => {
    const unknown = { ...cellOf([]), running: 30 };
    expect(fairShares([unknown, { ...unknown, running: 10 }], 20)).toEqual([15, 5]);
  });

  it('are those that each flow would get in one queue', () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const random = randomFrom(seed);
      const below = (most: number) => Math.floor(random() * most);
      const cells = Array.from({ length: 2 + below(3) }, () =>
        Array.from({ length: below(6) }, () => flow([0.5, 1, 2, 4][below(4)] ?? 1, below(6), below(40))),
      );
      const asked = cells.flat().reduce((sum, { running, waiting }) => sum + running + waiting, 0);
      const available = 1 + below(60);
      if (asked <= available) continue;
      const shares = fairShares(cells.map(cellOf), available);
      expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(available, 6);
      for (const [at, share] of byFlow(cells, available).entries()) {
        // Numbers of jobs are whole, so each flow may be one job before or behind.
        const most = 1 + (cells[at]?.length ?? 0);
        expect(Math.abs((shares[at] ?? 0) - share), `seed ${seed}, cell ${at}`).toBeLessThanOrEqual(most);
      }
    }
  });
});
