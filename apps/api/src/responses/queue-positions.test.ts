import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { QueuePositions } from './queue-positions.ts';

const world = { departures: 0, ahead: 0 as number | undefined, isAway: false, looks: 0 };
let positions: QueuePositions;

beforeEach(() => {
  vi.useFakeTimers();
  Object.assign(world, { departures: 0, ahead: 0, isAway: false, looks: 0 });
  positions = new QueuePositions({
    ahead: () => (world.isAway ? Promise.reject(new Error('away')) : Promise.resolve(world.ahead)),
    departures: () => {
      world.looks += 1;
      return world.isAway ? Promise.reject(new Error('away')) : Promise.resolve(world.departures);
    },
    now: () => Date.now(),
  });
});
afterEach(() => {
  positions.stop();
  vi.useRealTimers();
});

/** Lets so many be started in each of some seconds. */
async function pass(seconds: number, perSecond: number): Promise<void> {
  for (let at = 0; at < seconds; at += 1) {
    world.departures += perSecond;
    await vi.advanceTimersByTimeAsync(1_000);
  }
}

describe('the position of a response', () => {
  it('is one more than what is ahead of it', async () => {
    world.ahead = 4;
    expect(await positions.of('m', 'r')).toEqual({ position: 5, startsInMs: undefined });
    world.ahead = undefined;
    expect(await positions.of('m', 'r')).toBeUndefined();
  });

  it('comes with the time that the departures of the last seconds suggest', async () => {
    world.ahead = 99;
    positions.watch('m');
    await pass(5, 20);
    const slow = await positions.of('m', 'r');
    expect(slow?.startsInMs).toBeGreaterThan(4_500);
    expect(slow?.startsInMs).toBeLessThan(6_500);
    await pass(12, 0);
    await pass(2, 50);
    const begun = await positions.of('m', 'r');
    expect(begun?.startsInMs).toBeGreaterThan(1_500);
    expect(begun?.startsInMs).toBeLessThan(2_500);
    await pass(20, 100);
    const faster = await positions.of('m', 'r');
    expect(faster?.startsInMs).toBeCloseTo(1_000, -2);
  });

  it('does not count what fills free slots when the workers come', async () => {
    world.ahead = 99;
    positions.watch('m');
    await pass(3, 0);
    await pass(1, 80);
    expect(await positions.of('m', 'r')).toEqual({ position: 100, startsInMs: undefined });
    await pass(1, 50);
    expect(await positions.of('m', 'r')).toEqual({ position: 100, startsInMs: 2_000 });
  });

  it('comes with a time for a queue that one leaves in half a minute', async () => {
    world.ahead = 3;
    positions.watch('m');
    for (let at = 0; at < 4; at += 1) {
      await pass(1, 1);
      await pass(29, 0);
      positions.watch('m');
    }
    expect(await positions.of('m', 'r')).toEqual({ position: 4, startsInMs: 120_000 });
    await pass(30, 0);
    const { startsInMs = 0 } = (await positions.of('m', 'r')) ?? {};
    expect(startsInMs).toBeGreaterThan(150_000);
  });

  it('says nothing of the time while nothing leaves, or the count was lost', async () => {
    positions.watch('m');
    await pass(15, 0);
    expect(await positions.of('m', 'r')).toEqual({ position: 1, startsInMs: undefined });
    await pass(5, 10);
    world.departures = 0;
    await pass(1, 0);
    expect(await positions.of('m', 'r')).toEqual({ position: 1, startsInMs: undefined });
  });

  it('is nothing while the store is away, and the rate spans the gap', async () => {
    positions.watch('m');
    await pass(3, 10);
    world.isAway = true;
    await expect(positions.of('m', 'r')).rejects.toThrow('away');
    expect(await positions.ofIfKnown('m', 'r')).toBeUndefined();
    await pass(4, 10);
    world.isAway = false;
    await pass(1, 10);
    const { startsInMs = 0 } = (await positions.of('m', 'r')) ?? { startsInMs: 0 };
    expect(startsInMs).toBeGreaterThan(80);
    expect(startsInMs).toBeLessThan(130);
  });

  it('makes who found the queue full stay away until one has left it, and longer when nothing leaves', async () => {
    expect(positions.untilRoomMs('m')).toBe(10_000);
    await pass(5, 0);
    expect(positions.untilRoomMs('m')).toBe(10_000);
    for (let at = 0; at < 5; at += 1) {
      await pass(1, 1);
      await pass(1, 0);
    }
    expect(positions.untilRoomMs('m')).toBeGreaterThan(1_500);
    expect(positions.untilRoomMs('m')).toBeLessThan(2_500);
    await pass(11, 500);
    expect(positions.untilRoomMs('m')).toBe(1_000);
  });

  it('is no longer followed when nobody asks', async () => {
    positions.watch('m');
    await pass(62, 1);
    const { looks } = world;
    await pass(20, 1);
    expect(world.looks).toBe(looks);
    positions.watch('m');
    await pass(2, 1);
    expect(world.looks).toBeGreaterThan(looks);
  });
});
