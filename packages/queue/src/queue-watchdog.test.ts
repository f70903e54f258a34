import { describe, expect, it } from 'vitest';
import type { QueueRoom } from './queue-figures.ts';
import { QueueWatchdog } from './queue-watchdog.ts';

/** A queue in which a job waits, and a consumer with a free slot that takes nothing. */
function setUp() {
  const world = { now: 0, taken: 0, refused: 0, hasFreeSlot: true, isAway: false };
  const room: QueueRoom = { waiting: 3, isPaused: false, hasRoom: true };
  const stuck: object[] = [];
  const watchdog = new QueueWatchdog({
    queue: {
      names: ['vendor%2Fmodel'],
      room: () => (world.isAway ? Promise.reject(new Error('away')) : Promise.resolve(room)),
    },
    consumer: {
      taken: () => world.taken,
      refused: () => world.refused,
      hasFreeSlot: () => world.hasFreeSlot,
    },
    now: () => world.now,
    onStuck: (found) => stuck.push(found),
  });
  /** Looks every five seconds, from now on and for so long. */
  const lookFor = async (ms: number, between: () => void = () => undefined) => {
    for (const endAt = world.now + ms; world.now < endAt; world.now += 5_000) {
      between();
      await watchdog.look();
    }
  };
  return { world, room, stuck, lookFor };
}

describe('queue watchdog', () => {
  it('names a queue from which nothing was taken for half a minute, once', async () => {
    const { stuck, lookFor } = setUp();
    await lookFor(30_000);
    expect(stuck).toEqual([]);
    await lookFor(20_000);
    expect(stuck).toEqual([{ queue: 'vendor/model', waiting: 3, forMs: 30_000 }]);
  });

  it.each<[string, (setup: ReturnType<typeof setUp>) => void]>([
    ['is empty', ({ room }) => (room.waiting = 0)],
    ['is paused', ({ room }) => (room.isPaused = true)],
    ['runs as many as its model may', ({ room }) => (room.hasRoom = false)],
    ['has no free slot here', ({ world }) => (world.hasFreeSlot = false)],
    ['is taken from', ({ world }) => (world.taken += 1)],
    ['is one of a store that refuses to hand out jobs', ({ world }) => (world.refused += 1)],
    ['cannot be looked at', ({ world }) => (world.isAway = true)],
  ])('leaves a queue alone that %s', async (_, change) => {
    const setup = setUp();
    await setup.lookFor(300_000, () => change(setup));
    expect(setup.stuck).toEqual([]);
  });

  it('counts anew when the queue moved in between', async () => {
    const { world, stuck, lookFor } = setUp();
    await lookFor(25_000);
    world.taken += 1;
    await lookFor(30_000);
    expect(stuck).toEqual([]);
    await lookFor(5_000);
    expect(stuck).toHaveLength(1);
  });
});
