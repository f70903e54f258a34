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
