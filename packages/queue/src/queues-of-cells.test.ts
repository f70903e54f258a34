import { describe, expect, it } from 'vitest';
import { queuesOfCells } from './queues-of-cells.ts';
import type { ResponseQueue } from './response-queue.ts';

/** The queue of a cell of which only the departures are read. */
function aCell(departures: number) {
  const cell = { departures, isAway: false };
  const read = () => (cell.isAway ? Promise.reject(new Error('away')) : Promise.resolve(cell.departures));
  return { cell, queue: { departures: read } as unknown as ResponseQueue };
}

describe('departures from the queues of several cells', () => {
  it('grow by what leaves, and not by a cell that comes or comes back', async () => {
    const one = aCell(5);
    const other = aCell(1_000_000);
    const third = aCell(3_000);
    let all: [ResponseQueue, ...ResponseQueue[]] = [one.queue, other.queue];
    const queues = queuesOfCells({ all: () => all, of: () => one.queue });
    const first = await queues.departures('m');
    const grown = async () => (await queues.departures('m')) - first;
    other.cell.isAway = true;
    one.cell.departures += 2;
    expect(await grown()).toBe(2);
    other.cell.isAway = false;
    other.cell.departures += 7;
    expect(await grown()).toBe(9);
    all = [one.queue, other.queue, third.queue];
    expect(await grown()).toBe(9);
    all = [one.queue, third.queue];
    third.cell.departures += 1;
    expect(await grown()).toBe(10);
  });

  it('shrink when a store has lost its count', async () => {
    const { cell, queue } = aCell(50);
    const queues = queuesOfCells({ all: () => [queue], of: () => queue });
    const before = await queues.departures('m');
    cell.departures = 3;
    expect(await queues.departures('m')).toBeLessThan(before);
  });

  it('are unknown while no cell answers', async () => {
    const { cell, queue } = aCell(50);
    cell.isAway = true;
    const queues = queuesOfCells({ all: () => [queue], of: () => queue });
    await expect(queues.departures('m')).rejects.toThrow('away');
  });
});

describe('what waits in several cells', () => {
  /** Two cells with one job each; the second can be away. */
  function twoCells() {
    const state = { isAway: false };
    const cell = (id: string, isThere: () => boolean) => {
      const orAway = <Answer>(answer: Answer) =>
        isThere() ? Promise.resolve(answer) : Promise.reject(new Error('away'));
      const queue = {
        waitingIds: (_name: string, { first }: { first: number }) => orAway([id].slice(first)),
        isEmpty: () => orAway(id !== 'b'),
      };
      return queue as unknown as ResponseQueue; // only these are read
    };
    const first = cell('a', () => true);
    const all = [first, cell('b', () => !state.isAway)] as const;
    return { state, queues: queuesOfCells({ all: () => all, of: () => first }) };
  }

  it('is listed as far as it can be seen, and has no end behind a cell that is away', async () => {
    const { state, queues } = twoCells();
    const from = (first: number) => queues.waitingIds('m', { waitsFor: 'worker', first, count: 10 });
    expect([await from(0), await from(1), await from(2)]).toEqual([['a', 'b'], ['b'], []]);
    state.isAway = true;
    expect(await from(0)).toEqual(['a']);
    await expect(from(1)).rejects.toThrow('away');
  });

  it('is nothing only where every cell says so', async () => {
    const { state, queues } = twoCells();
    expect(await queues.isEmpty('m')).toBe(false);
    state.isAway = true;
    await expect(queues.isEmpty('m')).rejects.toThrow('away');
  });
});
