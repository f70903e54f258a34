import { describe, expect, it } from 'vitest';
import { SlotShares } from './slot-shares.ts';

/** Two cells of a worker with 32 slots, whose consumers tell what they are given. */
function twoCells() {
  const cells = ['0', 's'].map((name) => ({ name, waiting: 0, running: 0, slots: 0, isAway: false }));
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
      leastSlots: 2,
      inHand: () => cell.running,
      setSlots: (_name: string, slots: number) => {
        cell.slots = slots;
      },
    },
  }));
  const shares = new SlotShares({
    cells: () => sharing,
    names: () => ['m'],
    slots: 32,
  });
  const [first, second] = cells;
  if (!first || !second) throw new Error('there are two');
  return { first, second, shares };
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
});
