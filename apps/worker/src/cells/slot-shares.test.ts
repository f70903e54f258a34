import { describe, expect, it } from 'vitest';
import { SlotShares } from './slot-shares.ts';

/** Two cells of a worker with 32 slots, whose consumers tell what they are given. */
function twoCells() {
  const { cells, shares } = someCells([2, 2], 32);
  const [first, second] = cells;
  if (!first || !second) throw new Error('there are two');
  return { first, second, shares };
}

/** Cells of a worker, by the slots that each keeps at least. */
function someCells(least: readonly number[], slots: number) {
  const tooFew: object[] = [];
  const cells = least.map((leastSlots, at) => ({
    name: String(at),
    leastSlots,
    waiting: 0,
    running: 0,
    slots: 0,
    isAway: false,
  }));
  const sharing = cells.map((cell) => ({
    queues: {
      name: cell.name,
      keyPrefix: cell.name,
      connection: {
        // The reply of the script, for jobs without a priority.
        eval: () =>
          cell.isAway
            ? Promise.reject(new Error('Connection is closed.'))
            : Promise.resolve(['', cell.running, cell.waiting, 0, [], []]),
      },
      runningFlows: () => Promise.resolve({ passed: 0, flows: [] }),
    },
    consumer: {
      leastSlots: cell.leastSlots,
      inHand: () => cell.running,
      setSlots: (_name: string, given: number) => {
        cell.slots = given;
      },
    },
  }));
  const shares = new SlotShares({
    cells: () => sharing,
    names: () => ['m'],
    slots,
    onTooFew: (found) => tooFew.push(found),
  });
  return { cells, shares, tooFew };
}

describe('the slots of a worker', () => {
  it('are even before anything waits, and follow what does', async () => {
    const { first, second, shares } = twoCells();
    shares.begin(['m']);
    expect([first.slots, second.slots]).toEqual([16, 16]);
    second.waiting = 100;
    await shares.look();
    expect([first.slots, second.slots]).toEqual([2, 30]);
  });

  it('are given to another cell when what runs has ended, and not before', async () => {
    const { first, second, shares } = twoCells();
    Object.assign(first, { running: 30 });
    Object.assign(second, { waiting: 100_000 });
    for (let looks = 0; looks < 10; looks += 1) await shares.look();
    expect(first.slots).toBe(2);
    expect(second.slots).toBe(2);
    first.running = 10;
    await shares.look();
    expect(second.slots).toBe(22);
  });

  it('are those of the others while a cell does not answer', async () => {
    const { first, second, shares } = twoCells();
    Object.assign(first, { waiting: 50 });
    Object.assign(second, { waiting: 50 });
    await shares.look();
    expect([first.slots, second.slots]).toEqual([16, 16]);
    second.isAway = true;
    await shares.look();
    expect([first.slots, second.slots]).toEqual([30, 2]);
  });

  it.each([
    [32, 4, 10],
    [64, 8, 16],
    [256, 32, 16],
  ])(
    'are all given, %d of them, where the first cell keeps %d and %d are there',
    async (slots, kept, count) => {
      const { cells, shares } = someCells([kept, ...Array<number>(count - 1).fill(1)], slots);
      const given = () => cells.reduce((sum, cell) => sum + cell.slots, 0);
      shares.begin(['m']);
      await shares.look();
      expect(given()).toBe(slots);
      const last = cells.at(-1);
      Object.assign(last ?? {}, { waiting: 100_000 });
      for (let looks = 0; looks < 20; looks += 1) await shares.look();
      expect([given(), last?.slots]).toEqual([slots, slots - kept - (count - 2)]);
    },
  );

  it.each([
    [[1, 1], 1, [{ slots: 1, kept: 2 }]],
    [[1, 1], 2, []],
    [[4], 1, []],
  ])('are said to be too few where cells keep %j of %d', async (least, slots, expected) => {
    const { shares, tooFew } = someCells(least, slots);
    shares.start();
    await shares.stop();
    expect(tooFew).toEqual(expected);
  });
});
